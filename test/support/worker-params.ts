/** Parameters of store statements with sensible values, for tests below the guard and for workers. */
export {
  armParams,
  claimParams,
  completeParams,
  fencedBy,
  leaseMs,
  quietMs,
  resolveParams,
  wholeList,
} from "../../src/testing/store-contract/params.ts";
