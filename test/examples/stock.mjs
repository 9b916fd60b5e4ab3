/** A stock of goods: an area of a host's own. Events say what happened, a projection what is there now, commands what may
 *  happen next.
 *
 *      const ledger = await openLedger("./stock.ledger", { ...area });
 *      await ledger.execute(receive({ item: "pen", count: 10 }));
 *      const { result } = await ledger.execute(reserve({ item: "pen", count: 3, order: "7" }), { id: "order 7" });
 *      const scarce = await ledger.projection(stock).find({ index: "byFree", range: { lt: 5 } });
 */
import { accept, defineCommand, defineEvents, refuse } from "runledger";
import { defineProjection } from "runledger/projections";

/** Closed: nobody but the commands below writes these events. */
export const stockEvents = defineEvents("stock", { open: false }, { "stock.received": {}, "stock.reserved": {} });

/** One small document an item, which a reducer changes in place. */
export const stock = defineProjection()({
  name: "stock",
  version: 1,
  indexes: { byFree: ({ free }) => [free] },
  on: {
    "stock.received": {
      key: ({ data }) => data.item,
      apply(item = { free: 0, reserved: [] }, { data }) {
        item.free += data.count;
        return item;
      },
    },
    "stock.reserved": {
      key: ({ data }) => data.item,
      apply(item, { data: { count, order } }) {
        item.free -= count;
        item.reserved.push({ order, count });
      },
    },
  },
});

/** Goods came in. */
export const receive = defineCommand("stock.receive", {
  decide: (_, { item, count }) => accept([{ stream: `stock/${item}`, type: "stock.received", data: { item, count } }]),
});

/** An order wants goods: it gets all of them or none. */
export const reserve = defineCommand("stock.reserve", {
  reads: [({ item }) => ({ item: stock.get(item) })],
  decide({ item }, { item: name, count, order }) {
    const { free = 0, reserved = [] } = item ?? {};
    if (reserved.some((each) => each.order === order)) return refuse("ALREADY_RESERVED", { order });
    if (free < count) return refuse("OUT_OF_STOCK", { free, wanted: count });
    const event = { stream: `stock/${name}`, type: "stock.reserved", data: { item: name, count, order } };
    return accept([event], { left: free - count });
  },
});

export const area = { events: [stockEvents], projections: [stock], commands: [receive, reserve] };
