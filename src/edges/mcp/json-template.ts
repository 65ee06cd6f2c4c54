/**
 * JSON whose texts are templates: arguments of a look-up, arguments that are always the same.
 *
 * @module
 */
import type { Json, JsonObject } from "../../base/plain-json.ts";
import {
  type Template,
  type TemplateValues,
  parseTemplate,
  placesOf,
  renderValue,
} from "./template.ts";
import type { JsonTemplate, JsonTemplateObject } from "./tool-policy.ts";

/**
 * Parses every text in it.
 *
 * @throws {TemplateFault} as {@link parseTemplate} does.
 */
export function parseJsonTemplate(value: Json): JsonTemplate {
  if (typeof value === "string") return parseTemplate(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each: Json) => parseJsonTemplate(each));
  const members = Object.entries(value as JsonObject);
  return Object.fromEntries(members.map(([name, each]) => [name, parseJsonTemplate(each)]));
}

/** All places in it. */
export function placesIn(template: JsonTemplate): readonly string[] {
  if (typeof template !== "object" || template === null) return [];
  if (isTemplate(template)) return placesOf(template);
  return Object.values(template).flatMap((each) => placesIn(each));
}

/** The JSON with its places filled; a member whose place has no value is left out. */
export function renderJson(template: JsonTemplate, values: TemplateValues): Json | undefined {
  if (typeof template !== "object" || template === null) return template;
  if (isTemplate(template)) return renderValue(template, values) as Json | undefined;
  if (Array.isArray(template)) {
    return template.flatMap((each: JsonTemplate) => {
      const value = renderJson(each, values);
      return value === undefined ? [] : [value];
    });
  }
  const members = Object.entries(template as JsonTemplateObject).flatMap(([name, each]) => {
    const value = renderJson(each, values);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(members);
}

/** A template has `text` and `parts`, and a text never stays a text, so no object can look like one. */
function isTemplate(template: object): template is Template {
  return "parts" in template && typeof (template as { text?: unknown }).text === "string";
}
