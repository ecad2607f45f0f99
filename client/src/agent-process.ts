/** A client of the Model Context Protocol for a process `adacoder mcp`. Independent of VS Code. */

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { createInterface } from "node:readline";

import type { Program } from "./launch";

const CANCELLED = "The call was cancelled.";
/** Time that the process has to end by itself before it is killed. */
const LAST_MS = 5_000;
const REVISION = "2025-11-25";
const LOST =
  "AdaCoder's server for chats has ended: call the tool once more. If that fails, ask the user to run 'AdaCoder: Show Log'.";

/** The part that is used of VS Code's `CancellationToken`. */
interface Cancellation {
  onCancellationRequested(listener: () => unknown): { dispose(): unknown };
}

interface Answer {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

export class AgentProcess {
  private readonly process: ChildProcessWithoutNullStreams;
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  private readonly ready: Promise<unknown>;
  private last = 0;
  /** True if the process accepts no more calls. */
  hasEnded = false;

  constructor(
    { command, args, env, settings }: Program,
    folder: string,
    private readonly log: (line: string) => void,
  ) {
    this.process = spawn(command, [...args, "--root", folder], { cwd: folder, env });
    createInterface(this.process.stdout).on("line", (line) => {
      this.receive(line);
    });
    createInterface(this.process.stderr).on("line", log);
    this.process.stdin.on("error", () => undefined); // `close` follows
    this.process.on("error", (error) => {
      log(error.message);
      this.lost();
    });
    this.process.on("close", () => {
      this.lost();
    });
    this.ready = this.ask("initialize", {
      protocolVersion: REVISION,
      capabilities: { experimental: { adacoder: { settings } } },
    }).then(
      () => {
        this.send({ method: "notifications/initialized" });
      },
      (error: unknown) => {
        this.end();
        throw error;
      },
    );
    this.ready.catch(() => undefined); // each call reports the failure
  }

  /** Calls a tool, and returns its result, which may be an error that the agent can correct. */
  async call(name: string, input: object, cancellation: Cancellation): Promise<unknown> {
    await unlessCancelled(this.ready, cancellation);
    const result = await this.ask("tools/call", { name, arguments: input }, cancellation);
    return (result as { readonly structuredContent: unknown }).structuredContent;
  }

  /** Ends the process and its calls. */
  end(): void {
    this.lost();
    this.process.stdin.end();
    const killed = setTimeout(() => this.process.kill("SIGKILL"), LAST_MS);
    this.process.on("close", () => {
      clearTimeout(killed);
    });
  }

  private async ask(method: string, params: object, cancellation?: Cancellation): Promise<unknown> {
    if (this.hasEnded) throw new Error(LOST);
    const id = ++this.last;
    const answer = new Promise<Answer>((resolve) => this.waiting.set(id, resolve));
    this.send({ id, method, params });
    const listening = cancellation?.onCancellationRequested(() => {
      this.send({ method: "notifications/cancelled", params: { requestId: id } });
      this.waiting.get(id)?.({ error: { message: CANCELLED } });
    });
    const { result, error } = await answer;
    listening?.dispose();
    this.waiting.delete(id);
    if (error !== undefined) throw new Error(error.message);
    return result;
  }

  private send(message: object): void {
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  /** Passes an answer to its call. Notifications, and answers to cancelled calls, are ignored. */
  private receive(line: string): void {
    try {
      const answer = JSON.parse(line) as Answer;
      this.waiting.get(answer.id ?? 0)?.(answer);
    } catch (error) {
      this.log(`A line of AdaCoder's server for chats is not JSON: ${String(error)}`);
    }
  }

  private lost(): void {
    this.hasEnded = true;
    for (const resolve of this.waiting.values()) resolve({ error: { message: LOST } });
  }
}

/** Waits for a promise, or until the call is cancelled. */
async function unlessCancelled(work: Promise<unknown>, cancellation: Cancellation): Promise<void> {
  let stop = (): void => undefined;
  const cancelled = new Promise<never>((_, reject) => {
    stop = () => {
      reject(new Error(CANCELLED));
    };
  });
  const listening = cancellation.onCancellationRequested(() => {
    stop();
  });
  try {
    await Promise.race([work, cancelled]);
  } finally {
    listening.dispose();
  }
}
