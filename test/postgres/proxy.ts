/** A network that fails where a test says so: a TCP proxy in front of a PostgreSQL that reads the messages that pass.
 *  Invariants: what is not struck passes unchanged and in order; what was held back passes when it is let go; a fault strikes
 *  once, and its promise says when. */
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { Link } from "./link.js";

/** Where the connection is lost that sends a certain statement. */
export interface Cut {
  /** Matches the text that is executed, whether it was prepared or not. */
  readonly query: RegExp;
  /** Before the server gets it; when the server has it, which then goes on alone; or in the middle of its answer. */
  readonly moment: "before" | "sent" | "answered";
  /** How many that match are left alone before; default none. */
  readonly after?: number;
  /** Nobody is told: nothing goes either way any more, until the silence is over. Default false: both sides are closed. */
  readonly silent?: boolean;
}

/** A cut that waits for its statement. */
export interface ArmedCut extends Cut {
  left: number;
  readonly struck: () => void;
}

export class Proxy {
  /** The address of what is behind it, through it. */
  readonly url: string;
  readonly target: URL;
  private readonly server: Server;
  private readonly links = new Set<Link>();
  private readonly cuts = new Set<ArmedCut>();
  private refusing = false;
  /** Is told each text that is executed, in order. */
  hear: (text: string) => void = () => {};
  /** How long each answer is kept back. */
  delayMs = 0;
  /** Does nothing go either way? */
  silent = false;
  /** What is replaced in the server's messages by as many bytes. */
  readonly replaced: { readonly from: Buffer; readonly to: Buffer }[] = [];

  static async start(target: string): Promise<Proxy> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(0, "127.0.0.1", resolve);
    });
    return new Proxy(server, new URL(target));
  }

  private constructor(server: Server, target: URL) {
    this.server = server;
    this.target = target;
    const through = new URL(target);
    through.hostname = "127.0.0.1";
    through.port = String((server.address() as AddressInfo).port);
    this.url = through.href;
    server.on("connection", (socket) => {
      if (this.refusing) {
        socket.resetAndDestroy();
        return;
      }
      const link = new Link(this, socket, () => this.links.delete(link));
      this.links.add(link);
    });
  }

  /** Cuts the connection that sends such a statement next. Resolves when it did. */
  cutWhen(cut: Cut): Promise<void> {
    return new Promise((resolve) => {
      const armed = { ...cut, left: cut.after ?? 0, struck: resolve };
      this.cuts.add(armed);
    });
  }

  /** What strikes this statement now, if anything does. */
  cutFor(text: string): ArmedCut | null {
    for (const cut of this.cuts) {
      if (!cut.query.test(text)) continue;
      if (cut.left-- > 0) continue;
      this.cuts.delete(cut);
      return cut;
    }
    return null;
  }

  /** Cuts all connections that are open. */
  cutAll(): void {
    for (const link of this.links) link.lose();
  }

  /** Cuts all connections and takes no new ones until `restore`. */
  fail(): void {
    this.refusing = true;
    this.cutAll();
  }

  /** Is it in such an outage? */
  get failing(): boolean {
    return this.refusing;
  }

  /** Keeps all bytes back from now on, and tells nobody, until `restore`. */
  hush(): void {
    this.silent = true;
  }

  /** All is well again: what was kept back passes, new connections are taken, and no cut waits. */
  restore(): void {
    this.refusing = false;
    this.silent = false;
    this.delayMs = 0;
    this.cuts.clear();
    for (const link of this.links) link.resume();
  }

  /** Writes other bytes, as many, into what the server says. */
  replace(from: string, to: string): void {
    const pair = { from: Buffer.from(from), to: Buffer.from(to) };
    if (pair.from.length !== pair.to.length || from === "") throw new Error(`${from} and ${to} must be as long`);
    this.replaced.push(pair);
  }

  /** The process ids of the backends that are connected to. */
  get backends(): readonly number[] {
    return [...this.links].flatMap(({ backend }) => (backend === null ? [] : [backend]));
  }

  async close(): Promise<void> {
    this.restore();
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    this.refusing = true;
    for (const link of this.links) link.cut();
    await closed;
  }
}
