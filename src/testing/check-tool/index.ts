/**
 * The tool check: the faults that agents, workers, networks and providers are known for, run against
 * the user's own tool and store.
 *
 *   options, catalogue, report   what goes in, which checks there are, what comes out
 *   check-tool                   runs them
 *   bench, sends                 workers, clock and books; what becomes of each request
 *   baseline, repeats, breakdowns                   the faults
 *   key-claims, look-up-claims, classify-claim      the contract, measured
 *   judge, identity              verdicts: pure
 */
export { checkTool } from "./check-tool.ts";
export { fakeProviderFaults } from "./fake-provider-faults.ts";
export {
  defineCheck,
  isTool,
  type CheckOptions,
  type CheckProgress,
  type Example,
  type ProviderFaults,
  type ToolCheck,
  type WorkerToKill,
} from "./options.ts";
export { catalogue, checkNames, type CheckName } from "./catalogue.ts";
export {
  effectsText,
  expectTool,
  formatReport,
  summary,
  toldText,
  ToolCheckError,
  verdictText,
  type CheckReport,
  type CheckResult,
  type Finding,
  type Verdict,
} from "./report.ts";
