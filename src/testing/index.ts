/**
 * `nevertwice/testing`: what tests of guarded tools need. The tool check runs everything that is known
 * to go wrong against a tool; the fake provider is a real HTTP server whose append-only ledger says
 * how many effects there really are.
 *
 * @module
 */
export {
  checkTool,
  checkNames,
  defineCheck,
  expectTool,
  fakeProviderFaults,
  formatReport,
  ToolCheckError,
  type CheckName,
  type CheckOptions,
  type CheckProgress,
  type CheckReport,
  type CheckResult,
  type Example,
  type Finding,
  type ProviderFaults,
  type ToolCheck,
  type Verdict,
  type WorkerToKill,
} from "./check-tool/index.ts";
export * from "./fake-provider/index.ts";
export * from "./store-contract/index.ts";
