import { accept, defineCommand, defineEvents, defineProjection, refuse } from "runledger";

export const shopEvents = defineEvents("order", { open: false }, { "order.placed": {}, "order.paid": {} });

export const orders = defineProjection()({
  name: "order",
  version: 1,
  indexes: { unpaid: (order) => (order.paid ? null : [order.total]) },
  on: {
    "order.placed": { key: ({ data }) => data.order, apply: (_, { data }) => ({ total: data.total, paid: false }) },
    "order.paid": { key: ({ data }) => data.order, apply: (order) => ({ ...order, paid: true }) },
  },
});

export const place = defineCommand("order.place", {
  reads: [({ order }) => ({ found: orders.get(order) })],
  decide({ found }, { order, total }) {
    if (found !== null) return refuse("ALREADY_PLACED", { order });
    return accept([{ stream: `order/${order}`, type: "order.placed", data: { order, total } }]);
  },
});

export const pay = defineCommand("order.pay", {
  reads: [({ order }) => ({ found: orders.get(order) })],
  decide({ found }, { order }) {
    if (found === null) return refuse("NO_SUCH_ORDER", { order });
    if (found.paid) return refuse("ALREADY_PAID", { order });
    return accept([{ stream: `order/${order}`, type: "order.paid", data: { order } }], { total: found.total });
  },
});
