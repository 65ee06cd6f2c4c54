/**
 * One tool's policy, as written and as checked.
 *
 * @module
 */
import { minutes, seconds } from "../../base/duration.ts";
import type { Json } from "../../base/plain-json.ts";
import { isPointer } from "../../edges/mcp/json-pointer.ts";
import { parseJsonTemplate, placesIn } from "../../edges/mcp/json-template.ts";
import {
  type Template,
  TemplateFault,
  checkSeparated,
  parseTemplate,
  placesOf,
} from "../../edges/mcp/template.ts";
import {
  type DefinitiveRule,
  type GuardPolicy,
  type JsonTemplate,
  type KeyPolicy,
  type KeyTravel,
  type ReconcilePolicy,
  type ToolPolicy,
  intentSources,
} from "../../edges/mcp/tool-policy.ts";
import { guardedParts } from "./config-schema.ts";
import type { ConfigSource, Path } from "./config-source.ts";
import { durationMs } from "./duration-text.ts";
import type { WrittenConfig, WrittenKey, WrittenReconcile, WrittenTool } from "./written-config.ts";

/** What the parts of a policy are read with. */
interface Reading {
  readonly source: ConfigSource;
  readonly path: Path;
  readonly tool: WrittenTool;
  readonly config: WrittenConfig;
}

/** Reads the policy. Its faults are noted; what is returned then is not to be used. */
export function readPolicy(
  source: ConfigSource,
  name: string,
  tool: WrittenTool,
  config: WrittenConfig,
): ToolPolicy {
  const path: Path = ["tools", name];
  const slash = name.indexOf("/");
  const upstream = name.slice(0, slash);
  if (!Object.hasOwn(config.upstreams, upstream)) {
    const known = Object.keys(config.upstreams).join(", ");
    source.fault(path, `there is no server ${upstream} in \`upstreams\` (${known})`);
  }
  const base = {
    upstream,
    tool: name.slice(slash + 1),
    place: source.placeOf(path),
    overrideHints: tool.overrideHints === true,
  };
  if (tool.kind !== "non-idempotent") {
    for (const part of Object.keys(guardedParts)) {
      if (Object.hasOwn(tool, part))
        source.fault([...path, part], `\`${part}\` belongs to a non-idempotent tool only`);
    }
    return { ...base, kind: tool.kind };
  }
  return { ...base, ...readGuarded({ source, path, tool, config }, upstream) };
}

function readGuarded(
  reading: Reading,
  upstream: string,
): Omit<GuardPolicy, "upstream" | "tool" | "place" | "overrideHints"> {
  const { tool } = reading;
  const timeoutMs = spanOf(tool.timeout) ?? minutes(1);
  const businessArguments = new Map(
    Object.entries(tool.businessArguments ?? {}).map(
      ([name, names]) => [name, names === null ? [] : [names].flat()] as const,
    ),
  );
  if (businessArguments.size === 0) {
    reading.source.fault(
      reading.path,
      "`businessArguments` is missing: without it a reworded text would look like another effect",
    );
  }
  const intent = readIntent(reading, businessArguments);
  checkArgumentLists(reading, businessArguments);
  return {
    kind: "non-idempotent",
    ...givenText(tool, ["operation", "account"] as const),
    scope: tool.scope ?? "business",
    ...(intent === undefined ? {} : { intent }),
    intentFrom: tool.intentFrom ?? intentSources,
    businessArguments,
    freeText: tool.freeText ?? [],
    fixed: readFixed(reading, businessArguments),
    ...readKey(reading, upstream),
    mode: tool.mode ?? "strict",
    timeoutMs,
    flightMs: spanOf(tool.flight) ?? timeoutMs,
    ...givenSpans(tool),
    ...(tool.maxResultBytes === undefined ? {} : { maxResultBytes: tool.maxResultBytes }),
    waitMs: spanOf(tool.wait) ?? seconds(20),
    definitive: readDefinitive(reading),
    ...(tool.reconcile === undefined
      ? {}
      : { reconcile: readReconcile(reading, tool.reconcile, businessArguments) }),
    ...readLookAlike(tool),
    ...readApproval(reading, businessArguments),
    mismatch: tool.mismatch ?? "names",
    elicit: tool.review?.elicit ?? reading.config.review?.elicit ?? false,
  };
}

function spanOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : durationMs(text);
}

function givenText<Name extends "operation" | "account">(
  tool: WrittenTool,
  names: readonly Name[],
): { [Each in Name]?: string } {
  const given = names.filter((name) => tool[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, tool[name]])) as { [Each in Name]?: string };
}

function givenSpans(
  tool: WrittenTool,
): Pick<GuardPolicy, "sendWithinMs" | "marginMs" | "giveUpAfterMs"> {
  const { sendWithin, margin, giveUpAfter } = tool;
  return {
    ...(sendWithin === undefined ? {} : { sendWithinMs: durationMs(sendWithin) }),
    ...(margin === undefined ? {} : { marginMs: durationMs(margin) }),
    ...(giveUpAfter === undefined ? {} : { giveUpAfterMs: durationMs(giveUpAfter) }),
  };
}

/** Runs a parser of templates, and makes its fault one of the configuration. */
function guarded<T>({ source, path }: Reading, part: Path, parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error;
    source.fault([...path, ...part], `the template of \`${part.join(".")}\` ${error.message}`);
    return undefined;
  }
}

type Business = ReadonlyMap<string, unknown>;

function readIntent(reading: Reading, business: Business): Template | undefined {
  const { tool, source, path } = reading;
  const text = tool.intent;
  if (text === undefined) {
    if (tool.intentFrom !== undefined && !tool.intentFrom.includes("template")) return undefined;
    source.fault(
      path,
      "`intent` is missing: what does the business want done once? Where callers always bring it, say so with `intentFrom: [meta]`",
    );
    return undefined;
  }
  const template = guarded(reading, ["intent"], () => {
    const parsed = parseTemplate(text);
    checkSeparated(parsed);
    return parsed;
  });
  if (template === undefined) return undefined;
  for (const place of placesOf(template)) {
    const [kind, name = ""] = place.split(/\.(.*)/s);
    if (kind === "args" && business.has(name)) continue;
    // The orchestrator may vouch for more, in `_meta`; what is configured is known to be there.
    if (kind === "trusted" && name !== "") continue;
    source.fault(
      [...path, "intent"],
      kind === "args"
        ? `the template of \`intent\` names the argument ${name}, which is not one of \`businessArguments\``
        : `the template of \`intent\` names {${place}}; it may name {args.…} and {trusted.…}`,
    );
  }
  return template;
}

/** Each argument has one place only. */
function checkArgumentLists({ source, path, tool }: Reading, business: Business): void {
  for (const name of tool.freeText ?? []) {
    if (business.has(name))
      source.fault([...path, "freeText"], `${name} is a business argument and free text at once`);
  }
  for (const name of Object.keys(tool.fixed ?? {})) {
    if (business.has(name) || (tool.freeText ?? []).includes(name))
      source.fault([...path, "fixed", name], `${name} is fixed, so a model can't give it as well`);
  }
}

/** What is sent is made of stored arguments and the key alone: places for the rest have no value on a resend. */
function checkSentPlaces(
  { source, path }: Reading,
  part: Path,
  places: readonly string[],
  business: Business,
): void {
  for (const place of places) {
    const known =
      ["tenant", "key", "wireKey"].includes(place) ||
      (place.startsWith("args.") && business.has(place.slice("args.".length)));
    if (known) continue;
    source.fault(
      [...path, ...part],
      `the template of \`${part.join(".")}\` names {${place}}; it may name business arguments as {args.…}, {tenant}, {key} and {wireKey}`,
    );
  }
}

function readFixed(reading: Reading, business: Business): Map<string, JsonTemplate> {
  const fixed = new Map<string, JsonTemplate>();
  for (const [name, value] of Object.entries(reading.tool.fixed ?? {})) {
    const part = ["fixed", name];
    const template = guarded(reading, part, () => parseJsonTemplate(value));
    if (template === undefined) continue;
    checkSentPlaces(reading, part, placesIn(template), business);
    fixed.set(name, template);
  }
  return fixed;
}

function readKey(reading: Reading, upstream: string): { readonly key?: KeyPolicy } {
  const { tool, source, path, config } = reading;
  const written = tool.key;
  if (written === undefined) return {};
  const travel = travelOf(written);
  if (travel === undefined) {
    source.fault([...path, "key"], "`key` needs one of argument, meta and header: how it travels");
    return {};
  }
  if (travel.by === "header" && config.upstreams[upstream]?.url === undefined)
    source.fault([...path, "key", "header"], `a header needs a url, and ${upstream} is a command`);
  return {
    key: {
      travel,
      shape: written.shape ?? "uuid",
      ...(written.retention === undefined ? {} : { retentionMs: durationMs(written.retention) }),
      atomic: written.atomic === true,
      afterError: written.afterError ?? "unknown",
      replaysDeclines: written.replaysDeclines === true,
    },
  };
}

function travelOf({ argument, meta, header }: WrittenKey): KeyTravel | undefined {
  const ways = Object.entries({ argument, meta, header }).filter(
    ([, name]) => name !== undefined,
  ) as [KeyTravel["by"], string][];
  const [way, ...more] = ways;
  return way === undefined || more.length > 0 ? undefined : { by: way[0], name: way[1] };
}

function readDefinitive({ tool, source, path }: Reading): readonly DefinitiveRule[] {
  return (tool.definitive ?? []).map(({ text, pointer, equals }, index) => {
    if (text === undefined && pointer === undefined)
      source.fault([...path, "definitive", index], "a definitive result needs a text or a pointer");
    checkPointer({ source, path: [...path, "definitive", index] }, "pointer", pointer);
    return {
      ...(text === undefined ? {} : { text: new RegExp(text, "u") }),
      ...(pointer === undefined ? {} : { pointer, equals: equals ?? null }),
    };
  });
}

function checkPointer(
  { source, path }: Pick<Reading, "source" | "path">,
  part: string,
  pointer: string | undefined,
): void {
  if (pointer === undefined || isPointer(pointer)) return;
  source.fault([...path, part], `${pointer} is no JSON Pointer: it begins with a slash`);
}

function readReconcile(
  reading: Reading,
  written: WrittenReconcile,
  business: Business,
): ReconcilePolicy {
  const inside = { ...reading, path: [...reading.path, "reconcile"] };
  const { source, path } = inside;
  for (const part of ["items", "id"] as const) checkPointer(inside, part, written[part]);
  if (written.match === undefined && written.contains === undefined)
    source.fault(path, "`reconcile` needs `match` or `contains`: how the effect is recognised");
  const template = (part: Path, value: Json): JsonTemplate => {
    const parsed = guarded(inside, part, () => parseJsonTemplate(value)) ?? {};
    checkSentPlaces(inside, part, placesIn(parsed), business);
    return parsed;
  };
  const match = Object.entries(written.match ?? {}).map(([pointer, text]) => {
    checkPointer({ source, path: [...path, "match"] }, pointer, pointer);
    return { pointer, equals: template(["match", pointer], text) as Template };
  });
  const { status } = written;
  return {
    tool: written.tool,
    arguments: template(["arguments"], { ...written.arguments }),
    ...(written.items === undefined ? {} : { items: written.items }),
    match,
    ...(written.contains === undefined
      ? {}
      : { contains: template(["contains"], written.contains) as Template }),
    ...(status === undefined ? {} : { status: { pending: [], failed: [], ...status } }),
    ...(written.id === undefined ? {} : { id: written.id }),
    ...(written.lag === undefined ? {} : { lagMs: durationMs(written.lag) }),
    authoritative: written.authoritative === true,
    ...(written.timeout === undefined ? {} : { timeoutMs: durationMs(written.timeout) }),
  };
}

function readLookAlike({ lookAlike }: WrittenTool): Pick<GuardPolicy, "lookAlike"> {
  if (lookAlike === undefined) return {};
  const { rule, window, fields } = lookAlike;
  return {
    lookAlike: { rule, windowMs: durationMs(window), ...(fields === undefined ? {} : { fields }) },
  };
}

function readApproval(
  { tool, source, path }: Reading,
  business: Business,
): Pick<GuardPolicy, "approval"> {
  const { approval } = tool;
  if (approval === undefined) return {};
  if (!business.has(approval.argument))
    source.fault(
      [...path, "approval"],
      `\`approval\` names ${approval.argument}, which is not one of \`businessArguments\``,
    );
  return { approval };
}
