/**
 * Reads `nevertwice.yaml`: text, schema, secrets, environment, and what the schema can't say. All
 * faults are collected and told at once, each with its line.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Ajv, type ErrorObject } from "ajv";
import { minutes } from "../../base/duration.ts";
import { NeverTwiceError, isNeverTwiceError } from "../../base/errors.ts";
import { guardedTool } from "../../edges/mcp/guarded-tool.ts";
import { checkRetention } from "../../guard/start-up.ts";
import type { ToolPolicy } from "../../edges/mcp/tool-policy.ts";
import { ConfigSource, type Path } from "./config-source.ts";
import { configSchema } from "./config-schema.ts";
import { durationMs } from "./duration-text.ts";
import { type Environment, expand, refuseSecrets } from "./environment.ts";
import type { GatewayConfig, HttpConfig, ReviewConfig, UpstreamSpec } from "./gateway-config.ts";
import { readPolicy } from "./read-policy.ts";
import type { WrittenConfig, WrittenUpstream } from "./written-config.ts";

const validate = new Ajv({ allErrors: true, strict: false, formats: { regex: isRegExp } }).compile(
  configSchema,
);

/**
 * Reads a configuration file.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID with every fault and its line.
 */
export function loadConfig(file: string, environment: Environment): GatewayConfig {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new NeverTwiceError(
      "CONFIGURATION_INVALID",
      `The configuration ${file} can't be read. Check --config, or write a first one with \`nevertwice init\`.`,
      { cause: error },
    );
  }
  return readConfig(file, text, environment);
}

/** {@link loadConfig} of a text. Paths in it are relative to the file's folder. */
export function readConfig(file: string, text: string, environment: Environment): GatewayConfig {
  const source = new ConfigSource(file, text);
  source.check();
  refuseSecrets(source.value, source);
  const value = expand(source.value, source, environment);
  source.check();
  if (!validate(value)) for (const error of validate.errors ?? []) tell(source, error);
  source.check();
  const config = build(source, file, value as WrittenConfig);
  source.check();
  return config;
}

function isRegExp(text: string): boolean {
  try {
    return new RegExp(text, "u").source !== "";
  } catch {
    return false;
  }
}

/** Errors of the schema in words, at the part that they are about. */
function tell(source: ConfigSource, error: ErrorObject): void {
  const path: Path = error.instancePath
    .split("/")
    .slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  const name = path.length === 0 ? "the configuration" : path.join(".");
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case "additionalProperties": {
      const part = String(params["additionalProperty"]);
      return source.fault([...path, part], `\`${part}\` is not known in ${name}`);
    }
    case "required":
      return source.fault(path, `${name} lacks \`${String(params["missingProperty"])}\``);
    case "enum":
      return source.fault(
        path,
        `${name} must be one of ${(params["allowedValues"] as unknown[]).join(", ")}`,
      );
    case "pattern":
      return source.fault(path, `${name} is not written as it must be: ${expected(error)}`);
    case "propertyNames":
      return source.fault(
        [...path, String(params["propertyName"])],
        `\`${String(params["propertyName"])}\` is no name for ${name}`,
      );
    case "anyOf":
      // Its parts have told already what each of them wants.
      return;
    default:
      return source.fault(path, `${name} ${error.message ?? "is wrong"}`);
  }
}

function expected(error: ErrorObject): string {
  const pattern = String((error.params as Record<string, unknown>)["pattern"]);
  return pattern.includes("ms|s|min") ? "a span such as 30s, 24h or 45d" : `it must fit ${pattern}`;
}

function build(source: ConfigSource, file: string, written: WrittenConfig): GatewayConfig {
  const upstreams = new Map<string, UpstreamSpec>();
  for (const [name, upstream] of Object.entries(written.upstreams)) {
    const spec = readUpstream(source, file, name, upstream);
    if (spec !== undefined) upstreams.set(name, spec);
  }
  const policies = Object.entries(written.tools ?? {}).flatMap(([name, tool]) => {
    return [[name, readPolicy(source, name, tool, written)] as const];
  });
  for (const [name, policy] of policies) checkReconcile(source, name, policy, written);
  if (source.faults.length === 0)
    for (const [name, policy] of policies) checkContract(source, name, policy);
  checkKept(source, written.retention);
  const { context = {}, limits = {} } = written;
  const http = written.http === undefined ? undefined : readHttp(source, written.http);
  const { offer = true, name: status = "operation_status" } = written.operationStatus ?? {};
  const review = readReview(source, written.review ?? {});
  return {
    file,
    ...(written.store === undefined ? {} : { store: storeOf(file, written.store) }),
    ...(written.schema === undefined ? {} : { schema: written.schema }),
    ...(written.retention === undefined ? {} : { retentionMs: durationMs(written.retention) }),
    context: {
      ...context,
      trusted: context.trusted ?? {},
      keyHeaders: context.keyHeaders ?? [],
    },
    ...(http === undefined ? {} : { http }),
    upstreams,
    prefix: written.prefix ?? "clash",
    unlisted: written.unlisted ?? "refuse",
    policies: new Map(policies),
    review,
    ...(offer ? { operationStatus: status } : {}),
    limits: { requestBytes: limits.requestBytes ?? 1_048_576, depth: limits.depth ?? 32 },
    shutdownMs: written.shutdown === undefined ? minutes(0.5) : durationMs(written.shutdown),
  };
}

/** What the guard refuses at start, with its line. */
function checkKept(source: ConfigSource, retention: string | undefined): void {
  if (retention === undefined) return;
  try {
    checkRetention(durationMs(retention), {});
  } catch (error) {
    if (!isNeverTwiceError(error)) throw error;
    source.fault(["retention"], error.message);
  }
}

/** A look-up must not change anything, and its definition must be pinned like any other's. */
function checkReconcile(
  source: ConfigSource,
  name: string,
  policy: ToolPolicy,
  written: WrittenConfig,
): void {
  if (policy.kind !== "non-idempotent" || policy.reconcile === undefined) return;
  const { tool } = policy.reconcile;
  if (written.tools?.[`${policy.upstream}/${tool}`]?.kind === "read-only") return;
  source.fault(
    ["tools", name, "reconcile", "tool"],
    `\`reconcile\` asks by ${tool}, which needs a policy of its own: ${policy.upstream}/${tool}: { kind: read-only }`,
  );
}

/** What the parts of a policy say against each other; the server's own definition is compared later. */
function checkContract(source: ConfigSource, name: string, policy: ToolPolicy): void {
  if (policy.kind !== "non-idempotent") return;
  const nobody = { name: policy.upstream, era: undefined, request: () => Promise.reject(unasked) };
  try {
    guardedTool(policy, { name: policy.tool, inputSchema: { type: "object" } }, nobody);
  } catch (error) {
    if (!isNeverTwiceError(error)) throw error;
    source.fault(["tools", name], error.message);
  }
}

const unasked = new Error("a server is not asked while a configuration is read");

function storeOf(file: string, location: string): string {
  return location.includes("://") ? location : resolve(dirname(file), location);
}

function readUpstream(
  source: ConfigSource,
  file: string,
  name: string,
  written: WrittenUpstream,
): UpstreamSpec | undefined {
  const path: Path = ["upstreams", name];
  const { command, url } = written;
  if ((command === undefined) === (url === undefined)) {
    source.fault(path, `the server ${name} needs either a command or a url`);
    return undefined;
  }
  const requests = written.requests ?? [];
  if (url !== undefined) {
    for (const part of ["args", "env", "cwd"] as const) {
      if (written[part] !== undefined)
        source.fault([...path, part], `\`${part}\` belongs to a command, and ${name} is a url`);
    }
    const headers = written.headers ?? {};
    return { kind: "url", name, url, headers, protocol: written.protocol ?? "auto", requests };
  }
  if (written.headers !== undefined)
    source.fault([...path, "headers"], `\`headers\` belong to a url, and ${name} is a command`);
  return {
    kind: "command",
    name,
    command: command ?? "",
    args: written.args ?? [],
    env: written.env ?? {},
    cwd: resolve(dirname(file), written.cwd ?? "."),
    // `auto` would start a command a second time to ask it.
    protocol: written.protocol ?? "legacy",
    requests,
  };
}

function readHttp(source: ConfigSource, written: NonNullable<WrittenConfig["http"]>): HttpConfig {
  const { host = "127.0.0.1", port = 8484, path = "/mcp", tokens = [], sessions = false } = written;
  if (tokens.length === 0 && !isLoopback(host)) {
    source.fault(
      ["http", "host"],
      `${host} can be reached from elsewhere, so \`http.tokens\` is needed: who may call, and for which tenant`,
    );
  }
  for (const [index, { token }] of tokens.entries()) {
    if (token.length < 16)
      source.fault(["http", "tokens", index], "a token must have at least 16 characters");
    if (tokens.findIndex((other) => other.token === token) < index)
      source.fault(["http", "tokens", index], "this token stands for another tenant already");
  }
  return { host, port, path, tokens, sessions };
}

function readReview(
  source: ConfigSource,
  { within, secret }: NonNullable<WrittenConfig["review"]>,
): ReviewConfig {
  if (secret !== undefined && Buffer.byteLength(secret) < 32)
    source.fault(["review", "secret"], "the secret of `review` must have at least 32 bytes");
  return {
    withinMs: within === undefined ? minutes(5) : durationMs(within),
    ...(secret === undefined ? {} : { secret }),
  };
}

/** True for addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
