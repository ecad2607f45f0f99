/** Work that takes a while, shown as a notification with a Cancel button. */

import { randomUUID } from "node:crypto";
import { ProgressLocation, window, type CancellationToken, type Progress } from "vscode";
import {
  WorkDoneProgress,
  WorkDoneProgressCancelNotification,
  type BaseLanguageClient,
  type Middleware,
  type ProgressToken,
} from "vscode-languageclient/node";

/**
 * The notifications of one client.
 *
 * By default, the language client shows work such as a code action in the status bar, where the user cannot cancel it.
 */
export class ProgressNotifications {
  private readonly shown = new Map<ProgressToken, Notification>();
  private readonly requests = new Set<ProgressToken>();

  constructor(private readonly client: BaseLanguageClient) {}

  /** Shows work of the server that can be cancelled. The language client handles all other progress. */
  readonly handle: NonNullable<Middleware["handleWorkDoneProgress"]> = (token, value, next) => {
    const notification = this.shown.get(token);
    if (value.kind === "begin" && value.cancellable === true && !this.requests.has(token)) {
      this.open(token, value.title).report(value.message);
    } else if (value.kind === "report" && notification !== undefined) {
      notification.report(value.message);
    } else {
      notification?.close();
      next(token, value);
    }
  };

  /** Shows a request until it is answered; its Cancel button cancels the request. */
  async during<R>(
    title: string,
    request: (token: ProgressToken, cancellation: CancellationToken) => Promise<R>,
  ): Promise<R> {
    const token = randomUUID();
    return window.withProgress(inNotification(title), async (progress, cancellation) => {
      this.requests.add(token);
      const messages = this.client.onProgress(WorkDoneProgress.type, token, ({ message }) => {
        if (message !== undefined) progress.report({ message });
      });
      try {
        return await request(token, cancellation);
      } finally {
        messages.dispose();
        this.requests.delete(token);
      }
    });
  }

  /** Closes the notifications of a server that is gone and can no longer end them. */
  closeAll(): void {
    for (const notification of this.shown.values()) notification.close();
  }

  private open(token: ProgressToken, title: string): Notification {
    const notification = new Notification();
    this.shown.set(token, notification);
    void window.withProgress(inNotification(title), async (progress, cancellation) => {
      cancellation.onCancellationRequested(() => {
        void this.client.sendNotification(WorkDoneProgressCancelNotification.type, { token });
      });
      notification.appear(progress);
      await notification.closed;
      this.shown.delete(token);
    });
    return notification;
  }
}

/** One notification. It may receive messages, and even close, before VS Code has put it on the screen. */
class Notification {
  readonly closed: Promise<void>;
  close!: () => void;
  private progress: Progress<{ message: string }> | undefined;
  private latest: string | undefined;

  constructor() {
    this.closed = new Promise((resolve) => {
      this.close = resolve;
    });
  }

  appear(progress: Progress<{ message: string }>): void {
    this.progress = progress;
    this.report(this.latest);
  }

  report(message: string | undefined): void {
    if (message === undefined) return;
    this.latest = message;
    this.progress?.report({ message });
  }
}

function inNotification(title: string): { location: ProgressLocation; cancellable: true; title: string } {
  return { location: ProgressLocation.Notification, cancellable: true, title };
}
