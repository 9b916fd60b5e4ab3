/** One connection through the proxy: a client's socket, the one to the server, and what is known of what passes. */
import { connect } from "node:net";
import type { Socket } from "node:net";
import { Frames, openings, sync, zeroEnded } from "./frames.js";
import type { Frame } from "./frames.js";
import type { ArmedCut, Proxy } from "./proxy.js";

/** What a cut waits for that strikes in the answer: the answers are counted by the messages that end them, and within one, which may
 *  be that of several statements with one Sync, by what ends each statement's. */
interface Answering {
  readonly cut: ArmedCut;
  readonly number: number;
  /** How many statements are answered before it within the same answer. */
  readonly before: number;
}

export class Link {
  /** The process id of the server's end, once it said so. */
  backend: number | null = null;
  private readonly proxy: Proxy;
  private readonly client: Socket;
  private readonly server: Socket;
  private readonly asked = new Frames("frontend");
  private readonly said = new Frames("backend");
  private readonly gone: () => void;
  /** The texts of prepared statements, and of portals, by name. */
  private readonly statements = new Map<string, string>();
  private readonly portals = new Map<string, string>();
  /** How many answers were asked for, and how many came to their end. */
  private answersAsked = 0;
  private answersEnded = 0;
  /** How many statements were executed since the last Sync, and how many were answered since the last end of an answer. */
  private executed = 0;
  private completed = 0;
  private answering: Answering | null = null;
  /** This connection alone is silent. */
  private silent = false;
  /** The client is gone, and the server goes on alone until it has answered so many. */
  private aloneUntil = Infinity;
  private held: (() => void)[] = [];
  private sending: Promise<void> = Promise.resolve();
  /** How much waits in `sending`. */
  private waiting = 0;
  private ended = false;

  constructor(proxy: Proxy, client: Socket, gone: () => void) {
    this.proxy = proxy;
    this.client = client;
    this.gone = gone;
    const { hostname, port } = proxy.target;
    this.server = connect({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || 5432) });
    for (const socket of [this.client, this.server]) socket.setNoDelay(true).on("error", () => {});
    this.client.on("data", (bytes) => this.pass(() => this.ask(bytes)));
    this.server.on("data", (bytes) => this.pass(() => this.answer(bytes)));
    this.client.on("close", () => this.pass(() => this.lose()));
    this.server.on("close", () => this.pass(() => this.later(() => this.cut())));
  }

  /** Closes both sides, unless the client is gone already and the server must be left alone. */
  lose(): void {
    if (this.aloneUntil === Infinity) this.cut();
  }

  /** Closes both sides. */
  cut(): void {
    if (this.ended) return;
    this.ended = true;
    this.held = [];
    this.client.destroy();
    this.server.destroy();
    this.gone();
  }

  /** Lets go of what was kept back. */
  resume(): void {
    this.silent = false;
    for (const act of this.held.splice(0)) act();
  }

  /** Does it now, or when the silence is over. */
  private pass(act: () => void): void {
    if (this.proxy.silent || this.silent) this.held.push(act);
    else if (!this.ended) act();
  }

  private ask(bytes: Buffer): void {
    for (const frame of this.asked.push(bytes)) {
      if (this.ended || this.aloneUntil !== Infinity) return;
      if (this.silent) this.held.push(() => this.askOne(frame));
      else this.askOne(frame);
    }
  }

  private askOne(frame: Frame): void {
    if (frame.type === "") {
      this.open(frame);
      return;
    }
    const text = this.textOf(frame);
    if (text !== null) this.proxy.hear(text);
    const cut = text === null ? null : this.proxy.cutFor(text);
    if (cut?.moment === "before") {
      this.strike(cut, () => this.askOne(frame));
      return;
    }
    this.server.write(frame.bytes);
    if (cut !== null) this.arm(cut, frame);
    else if ("QSF".includes(frame.type)) this.answersAsked++;
    if (frame.type === "E") this.executed++;
    else if (frame.type === "S") this.executed = 0;
  }

  private arm(cut: ArmedCut, { type }: Frame): void {
    const number = this.answersAsked + 1;
    if (cut.moment === "answered") {
      this.answering = { cut, number, before: type === "E" ? this.executed : 0 };
      if (type === "Q") this.answersAsked++;
      return;
    }
    // The server answers what was prepared when it is asked to, which the client's own message may not live to see.
    if (type !== "Q") this.server.write(sync);
    if (cut.silent === true) {
      this.silent = true;
    } else {
      this.aloneUntil = number;
      this.client.destroy();
    }
    cut.struck();
  }

  private strike(cut: ArmedCut, act: () => void): void {
    if (cut.silent === true) {
      this.silent = true;
      this.held.push(act);
    } else {
      this.cut();
    }
    cut.struck();
  }

  /** The first message: no encryption here, and requests to cancel have no answer. */
  private open(frame: Frame): void {
    const code = frame.body.readInt32BE(0);
    if (code === openings.tls || code === openings.gss) {
      this.client.write("N");
      return;
    }
    if (code !== openings.cancel) {
      this.asked.untyped = false;
      this.answersAsked++;
    }
    this.server.write(frame.bytes);
  }

  /** The text that this message executes; null when it executes none. */
  private textOf({ type, body }: Frame): string | null {
    switch (type) {
      case "Q":
        return zeroEnded(body, 1)[0]!;
      case "P": {
        const [name, text] = zeroEnded(body, 2) as [string, string];
        this.statements.set(name, text);
        return null;
      }
      case "B": {
        const [portal, statement] = zeroEnded(body, 2) as [string, string];
        this.portals.set(portal, this.statements.get(statement) ?? "");
        return null;
      }
      case "E":
        return this.portals.get(zeroEnded(body, 1)[0]!) ?? "";
      default:
        return null;
    }
  }

  private answer(bytes: Buffer): void {
    for (const frame of this.said.push(bytes)) {
      if (this.ended) return;
      if (this.silent) this.held.push(() => this.answerOne(frame));
      else this.answerOne(frame);
    }
  }

  private answerOne(frame: Frame): void {
    if (frame.type === "K") this.backend = frame.body.readInt32BE(0);
    const struck = this.answering;
    // Where one fails, nothing behind it is answered.
    const isIts = frame.type === "E" || (frame.type === "C" && this.completed === struck?.before);
    if (struck !== null && isIts && this.answersEnded + 1 === struck.number) {
      this.answering = null;
      this.later(() => this.breakOff(struck.cut, frame));
      return;
    }
    if (frame.type === "C") this.completed++;
    else if (frame.type === "Z") this.completed = 0;
    if (frame.type === "Z" && ++this.answersEnded >= this.aloneUntil) {
      this.cut();
      return;
    }
    this.later(() => {
      if (!this.client.destroyed) this.client.write(this.rewritten(frame.bytes));
    });
  }

  /** The first half of a message, and no more. */
  private breakOff(cut: ArmedCut, { bytes }: Frame): void {
    const half = bytes.subarray(0, bytes.length >> 1);
    if (cut.silent === true) {
      this.client.write(half);
      this.strike(cut, () => this.client.write(bytes.subarray(half.length)));
    } else {
      this.ended = true;
      this.client.end(half, () => this.client.destroy());
      this.server.destroy();
      this.gone();
      cut.struck();
    }
  }

  /** Does it behind all that was said before, and not before the delay. */
  private later(act: () => void): void {
    const { delayMs } = this.proxy;
    this.waiting++;
    if (delayMs === 0 && this.waiting === 1) {
      this.waiting--;
      act();
      return;
    }
    this.sending = this.sending
      .then(() => new Promise((resolve) => setTimeout(resolve, delayMs)))
      .then(() => {
        this.waiting--;
        this.pass(act);
      });
  }

  private rewritten(bytes: Buffer): Buffer {
    let result = bytes;
    for (const { from, to } of this.proxy.replaced) {
      for (let at = result.indexOf(from); at >= 0; at = result.indexOf(from, at + to.length)) {
        if (result === bytes) result = Buffer.from(bytes);
        to.copy(result, at);
      }
    }
    return result;
  }
}
