/**
 * The programs of the guides to flows, engines, events and compensation compile as they stand, against
 * the SDKs that they use. What they take from the reader's program is declared beside them.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it, onTestFinished } from "vitest";
import { programFolder } from "../support/program-folder.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

const doors = {
  nevertwice: ["./src/index.ts"],
  "nevertwice/engines/*": ["./src/edges/engines/*.ts"],
  "nevertwice/events/*": ["./src/edges/events/*.ts"],
  "nevertwice/sqlite": ["./src/stores/sqlite/index.ts"],
};

/** The reader's own parts. */
const ownParts = `
import type { ApprovalRecord, EffectStore, Flow, Guard, Tool } from "nevertwice";
declare global {
  type Ticket = { readonly id: string; readonly orderId: string };
  type Refund = { readonly id: string };
  const store: EffectStore;
  const guard: Guard;
  const issueRefund: Tool<Refund>;
  const refundTicket: Flow<Ticket, void>;
  const ticket: Ticket;
  const approval: ApprovalRecord;
  function model(ticket: Ticket): Promise<{ orderId: string; amountMinor: number }>;
}
`;

/** What goes without saying in guides whose programs are fragments: each is a body of its own. */
const fragments: Readonly<Record<string, string>> = {
  "events.md": `
import type amqp from "amqplib";
import type pg from "pg";
import { type Flow, type Flows, type Json, createInbox, createRelay, runIdOfEvent } from "nevertwice";
import type { EffectStore } from "nevertwice";
import { rabbitMqTarget } from "nevertwice/events/rabbitmq";
declare const store: EffectStore<pg.PoolClient>;
declare const flows: Flows;
declare const ship: Flow<Json>;
declare const order: Json;
declare const data: Json;
declare const id: string, type: string, subject: string;
declare const connect: () => Promise<amqp.ChannelModel>;
declare const signal: AbortSignal;
`,
  "flows.md": `
import { type FlowContext, createFlows, flow } from "nevertwice";
declare const signal: AbortSignal;
declare function oldBody(f: FlowContext, ticket: Ticket): Promise<void>;
declare function newBody(f: FlowContext, ticket: Ticket): Promise<void>;
`,
};

function programsOf(guide: string): string[] {
  const text = readFileSync(join(root, "docs/guides", guide), "utf8");
  const programs = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
  expect(programs.length).toBeGreaterThan(0);
  const before = fragments[guide];
  return before === undefined
    ? programs
    : programs.map((code) => `${before}export async function fragment() {\n${code}\n}\n`);
}

/** What the compiler has to say to programs. */
function complaintsAbout(programs: readonly string[]): string[] {
  const folder = programFolder("guides");
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const files = programs.map((program, index) => {
    const name = /^\/\/ ([\w-]+\.ts)\n/.exec(program)?.[1] ?? `program-${index}.ts`;
    return { path: join(folder, name), text: program };
  });
  files.push({ path: join(folder, "own-parts.ts"), text: ownParts });
  for (const { path, text: program } of files) writeFileSync(path, program);
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), (path) =>
    readFileSync(path, "utf8"),
  ) as { config: { compilerOptions: object } };
  const options = {
    ...config.compilerOptions,
    paths: doors,
    noUnusedLocals: false,
    noUnusedParameters: false,
  };
  const parsed = ts.parseJsonConfigFileContent(
    { compilerOptions: options, files: [] },
    ts.sys,
    root,
  );
  const program = ts.createProgram({
    rootNames: files.map(({ path }) => path),
    options: parsed.options,
  });
  return files.flatMap(({ path }) => {
    const source = program.getSourceFile(path);
    const found = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ];
    return found.map(({ messageText, file, start }) => {
      const line = file?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0;
      return `${path.slice(folder.length + 1)}:${line + 1} ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
    });
  });
}

it.each(["flows.md", "engines.md", "events.md", "compensation.md"])("%s compiles", (guide) => {
  expect(complaintsAbout(programsOf(guide))).toEqual([]);
});

it("a call that isn't there would not compile", () => {
  const broken = programsOf("events.md").map((code) =>
    code.replaceAll("createRelay", "createRely"),
  );
  expect(complaintsAbout(broken)).toContainEqual(expect.stringContaining("createRely"));
});
