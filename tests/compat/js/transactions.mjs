/**
 * A transactional JavaScript client that obeys step by step: one step a line on stdin, one line on stdout for each, as
 * tests/transactions/model.py describes. `open(address, transactionalId)` resolves to a producer with the other steps.
 */

import { createInterface } from "node:readline";

export const SESSION_MS = 6000; // the shortest time after which a broker may declare a group's member dead

/** Obey until stdin ends. isFenced: whether the client says that another instance has taken over. */
export async function serve(open, isFenced) {
  const producers = new Map();
  for await (const line of createInterface({ input: process.stdin })) {
    const [step, handle, ...words] = line.split("\t");
    try {
      if (step === "open") producers.set(handle, await open(...words));
      else await producers.get(handle)[step](...words);
      say("ok");
    } catch (error) {
      say(isFenced(error) ? "fenced" : "error", String(error.message).replaceAll(/\s+/g, " "));
      if (!isFenced(error)) console.error(error);
    }
  }
  process.exit(); // whatever is still open
}

/** What comes in one after the other, for those who take one after the other. */
export class Queue {
  #items = [];
  #waiting = [];

  put(item) {
    const next = this.#waiting.shift();
    if (next) next(item);
    else this.#items.push(item);
  }

  take() {
    return this.#items.length > 0 ? this.#items.shift() : new Promise((resolve) => this.#waiting.push(resolve));
  }
}

function say(...words) {
  process.stdout.write(`${words.join("\t")}\n`);
}
