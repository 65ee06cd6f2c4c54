/**
 * Starts a worker, waits until its call has taken effect, and kills it.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Backstage } from "../demo/backstage.ts";
import { siblingScript } from "../../testing/sibling-script.ts";
import type { Job, Word } from "./job.ts";

/** Resolves with the effects that the worker saw, once it is gone. */
export async function killWorkerAt(job: Job, backstage: Backstage): Promise<number> {
  const child = spawn(process.execPath, siblingScript(import.meta.url, "worker"), {
    // What the checked file prints there is no output of ours.
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const gone = once(child, "close");
  backstage.add(async () => {
    child.kill("SIGKILL");
    await gone;
  });
  child.send(job);
  const word = await Promise.race([nextWord(child), gone.then(() => undefined)]);
  child.kill("SIGKILL");
  await gone;
  if (word !== undefined && "effects" in word) return word.effects;
  throw new Error(
    `the worker ended before it could be killed: ${word?.ended ?? "its process is gone"}`,
  );
}

async function nextWord(child: ChildProcess): Promise<Word> {
  const [word] = (await once(child, "message")) as [Word];
  return word;
}
