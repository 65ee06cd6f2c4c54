/**
 * Loads the gateway where a command needs it: the MCP packages are optional.
 *
 * @module
 */
import { NeverTwiceError } from "../base/errors.ts";

const install =
  "npm install @modelcontextprotocol/client@2 @modelcontextprotocol/server@2 @modelcontextprotocol/node@2";

/**
 * Loads a part of the gateway.
 *
 * @throws {NeverTwiceError} DRIVER_MISSING naming what to install.
 */
export async function loadGatewayPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    const ours =
      code === "ERR_MODULE_NOT_FOUND" && String(message).includes("@modelcontextprotocol");
    if (!ours) throw error;
    throw new NeverTwiceError(
      "DRIVER_MISSING",
      `The official MCP packages are not installed. Install them beside nevertwice: ${install}`,
      { cause: error, details: { driver: "@modelcontextprotocol", install } },
    );
  }
}
