/**
 * Environment variables in a configuration, and the refusal of secrets that are written into it.
 *
 * @module
 */
import type { ConfigSource, Path } from "./config-source.ts";

/** Values of environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

const variable = /\$\{([A-Za-z_]\w*)\}/g;

/** The value with `${NAME}` replaced in every text. A variable that isn't set is a fault. */
export function expand(
  value: unknown,
  source: ConfigSource,
  environment: Environment,
  path: Path = [],
): unknown {
  if (typeof value === "string") {
    return value.replaceAll(variable, (written, name: string) => {
      const found = environment[name];
      if (found !== undefined) return found;
      source.fault(path, `the environment variable ${name} is not set`);
      return written;
    });
  }
  if (Array.isArray(value)) {
    return value.map((each: unknown, index) => expand(each, source, environment, [...path, index]));
  }
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(
    ([name, each]) => [name, expand(each, source, environment, [...path, name])] as const,
  );
  return Object.fromEntries(members);
}

const secretName = /token|secret|passw|credential|authorization|cookie|api[_-]?key|private/i;
const secretText =
  /\b(sk|rk|pk)_(live|test)_\w{8,}|\bgh[pousr]_\w{20,}|\bxox[abprs]-|\bAKIA[0-9A-Z]{16}\b|\beyJ[\w-]{10,}\.|-----BEGIN [A-Z ]*PRIVATE KEY/;

/** Refuses secrets that stand in the file: they belong into the environment. */
export function refuseSecrets(value: unknown, source: ConfigSource, path: Path = []): void {
  if (typeof value === "string") {
    const reason = secretIn(value, path);
    if (reason !== undefined)
      source.fault(path, `${reason}; write \${ENV_VARIABLE} in its place and set that variable`);
    return;
  }
  if (typeof value !== "object" || value === null) return;
  for (const [name, each] of Object.entries(value)) {
    refuseSecrets(each, source, [...path, Array.isArray(value) ? Number(name) : name]);
  }
}

function secretIn(text: string, path: Path): string | undefined {
  const plain = text.replaceAll(variable, "");
  if (secretText.test(plain)) return "a secret must not stand in the file";
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/@]*:[^/@]+@/i.test(plain))
    return "a password must not stand in a URL of the file";
  if (!isSecretPlace(path) || /^\s*((bearer|basic|token)\s*)?$/i.test(plain)) return undefined;
  return "a secret must not stand in the file";
}

/** Places that hold a secret by their name: tokens, the seal of dialogues, and variables and headers that sound like one. */
function isSecretPlace(path: Path): boolean {
  const [first, , third, fourth] = path;
  const last = String(path.at(-1));
  if (first === "http") return last === "token";
  if (first === "review") return last === "secret";
  const named = first === "upstreams" && (third === "env" || third === "headers");
  return named && fourth !== undefined && secretName.test(last);
}
