/**
 * Cases of what is kept of a result.
 *
 * @module
 */
import { storeCase } from "./case.ts";
import { claimParams, completeParams, made } from "./params.ts";

const oddText = [
  "Gr\u00fc\u00dfe, e\u0301 and \u00e9, \u{1f600}, \u{1f468}\u200d\u{1f469}\u200d\u{1f467}",
  "\u0634\u0643\u0631\u0627 \u05e9\u05dc\u05d5\u05dd \u65e5\u672c\u8a9e \ufeff \uffff \u2028 \u00a0",
  "quotes ' \" ` backslash \\ per cent % _ colon :now :tenant dollar $1 ? -- /* */ ;",
  "tab \t carriage return \r\n outer space ",
].join("\n");

/** Each result is kept as it is, and nothing is taken for "no result" (R15). */
export const results = [
  storeCase(
    "`null`, `0`, the empty text, `false` and the empty list are results, and kept apart",
    { rule: "R15", fault: "falsy result lost" },
    async (scene) => {
      for (const [at, result] of ["null", "0", '""', "false", "[]", "{}"].entries()) {
        const key = `key-${at}`;
        const claim = claimParams(key);
        await scene.store.claim(claim);
        made("complete", await scene.store.complete(completeParams(key, { result })));
        const expected = { status: "DONE", resultKind: "json", result } as const;
        scene.has(`the row of ${result}`, await scene.row(claim), expected);
      }
    },
  ),
  storeCase(
    "`undefined` and a result that could not be stored are kinds of their own",
    { rule: "R15", fault: "result kind lost" },
    async (scene) => {
      for (const [resultKind, result] of [
        ["undefined", null],
        ["omitted", '{"reason":"it is too large"}'],
      ] as const) {
        const claim = claimParams(resultKind);
        await scene.store.claim(claim);
        const complete = completeParams(resultKind, { resultKind, result });
        made("complete", await scene.store.complete(complete));
        const expected = { status: "DONE", resultKind, result } as const;
        scene.has(`the row of kind ${resultKind}`, await scene.row(claim), expected);
      }
    },
  ),
  storeCase(
    "texts come back as they went in, whatever they hold",
    { rule: "R4", fault: "text altered" },
    async (scene) => {
      const tenant = `tenant ${oddText}`.replaceAll(/[\r\n]/g, " ");
      const json = JSON.stringify({ text: `${oddText}\0` });
      const claim = claimParams("key", {
        tenant,
        intent: json,
        fingerprint: oddText,
        arguments: json,
        wireKey: oddText,
        operation: oddText,
        detail: json,
      });
      await scene.store.claim(claim);
      const success = { tenant, result: json, providerId: oddText, detail: json };
      made("complete", await scene.store.complete(completeParams("key", success)));
      scene.has("the row", await scene.row(claim), {
        tenant,
        intent: json,
        fingerprint: oddText,
        arguments: json,
        wireKey: oddText,
        operation: oddText,
        result: json,
        providerId: oddText,
      });
      const details = (await scene.lines("key")).map((line) => line.detail);
      scene.is("the journal's details", [details[0], details.at(-1)], [json, json]);
      const byName = await scene.store.list({
        tenant,
        status: "DONE",
        operation: oddText,
        review: false,
        limit: 10,
        after: null,
      });
      scene.is("how many are listed under the odd names", byName.length, 1);
    },
  ),
  storeCase(
    "arguments and results of a megabyte come back whole",
    { rule: "R15", fault: "text cut off" },
    async (scene) => {
      const big = JSON.stringify({ text: "\u00e9\u{1f600}x".repeat(150_000) });
      const claim = claimParams("key", { arguments: big });
      await scene.store.claim(claim);
      const done = await scene.store.complete(completeParams("key", { result: big }));
      const row = await scene.row(claim);
      for (const [what, text] of Object.entries({
        "the arguments": row.arguments,
        "the result": row.result,
        "the result as returned": done?.result ?? null,
      })) {
        scene.is(`the length of ${what}`, text?.length, big.length);
        scene.holds(`${what} are the ones stored`, text === big);
      }
    },
  ),
];
