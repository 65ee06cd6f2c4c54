/**
 * The programs of the guides to engines and to compensation in flows compile as they stand, against the
 * engines' own SDKs. What they take from the reader's program is declared beside them.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it, onTestFinished } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));

const doors = {
  nevertwice: ["./src/index.ts"],
  "nevertwice/engines/*": ["./src/edges/engines/*.ts"],
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

/** What the compiler has to say to the guide's programs. */
function complaintsAbout(guide: string): string[] {
  const text = readFileSync(join(root, "docs/guides", guide), "utf8");
  const programs = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
  expect(programs.length).toBeGreaterThan(0);
  // Inside the repository, so that the packages they import are found.
  const folder = mkdtempSync(join(root, "test/package/guide-"));
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
  const options = { ...config.compilerOptions, paths: doors, noUnusedLocals: false };
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

it.each(["engines.md", "compensation.md"])("%s compiles", (guide) => {
  expect(complaintsAbout(guide)).toEqual([]);
});
