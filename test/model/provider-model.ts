/**
 * The provider and the network to it: requests arrive late or never, keys are remembered or forgotten,
 * effects land, and the look-up shows them after its lag.
 */
import { type Finding } from "../../src/ledger/decide.ts";
import { type Lab, forEver } from "./setting.ts";
import {
  type Effect,
  type Key,
  type Message,
  type Reply,
  type Step,
  type World,
  itemAt,
  noKey,
  replaced,
} from "./state.ts";

const who = "provider";
/** More effects than that tell nothing new. */
const maxEffects = 3;

/** Everything that the provider and the network may do next. */
export function providerSteps(lab: Lab, world: World): Step[] {
  return [
    ...world.messages.flatMap((message, index) => messageSteps(lab, world, message, index)),
    ...forgetting(lab, world),
    ...showing(lab, world),
    ...deciding(lab, world),
    ...closing(lab, world),
  ];
}

function messageSteps(lab: Lab, world: World, message: Message, index: number): Step[] {
  if (message.state === "running") return run(lab, world, index, "ends");
  if (message.state !== "flying") return [];
  const { provider } = lab.setting;
  const answer = (said: string, reply: Reply, effect = 0): Step[] => [
    arrival(world, index, said, replied(world, index, reply, effect)),
  ];
  if (world.closed) return answer("refuses it: the matter is closed", "exists");
  if (provider.kind === "natural" && world.effects.some(({ status }) => status !== "failed")) {
    return answer('refuses it: "already exists"', "exists");
  }
  const key = itemAt(world.keys, message.wire);
  if (provider.kind === "keyed" && key.state !== "none") return knownKey(lab, world, index, key);
  if (!provider.slow) return run(lab, world, index, "arrives");
  const running = {
    ...world,
    messages: replaced(world.messages, index, { state: "running" }),
    // A provider that isn't atomic leaves the gap: nobody sees the key before it is saved.
    ...(provider.kind === "keyed" && provider.atomic
      ? { keys: replaced(world.keys, message.wire, { state: "running", arrivedAt: world.now }) }
      : {}),
  };
  return [arrival(world, index, "starts to run it", running)];
}

function arrival(world: World, index: number, said: string, next: World): Step {
  const wire = itemAt(world.messages, index).wire;
  const does = `request of worker ${index + 1} arrives, wire key ${wire}`;
  return { who, does, said, regular: true, world: next };
}

function replied(world: World, index: number, reply: Reply, effect = 0): World {
  const change = { state: "over", sentAt: 0, reply, effect } as const;
  return { ...world, messages: replaced(world.messages, index, change) };
}

function knownKey(lab: Lab, world: World, index: number, key: Key): Step[] {
  const answer = (said: string, reply: Reply, effect = 0): Step[] => [
    arrival(world, index, said, replied(world, index, reply, effect)),
  ];
  switch (key.state) {
    case "ok":
      return answer(`replays its answer: effect ${key.effect}`, "ok", key.effect);
    case "declined":
      return answer("replays its decline", "declined");
    case "error":
      return key.effect > 0 && lab.setting.provider.afterError === "re-executes"
        ? answer(`goes on where it stopped: effect ${key.effect}`, "ok", key.effect)
        : answer("replays its error", "error");
    case "burnt":
      return answer("refuses it: the key is burnt", "burnt");
    case "running":
      return answer("refuses it: the key is in use", "in-use");
    case "none":
      return [];
  }
}

/** Everything that running a request can come to. */
function run(lab: Lab, world: World, index: number, verb: "arrives" | "ends"): Step[] {
  const { provider } = lab.setting;
  const wire = itemAt(world.messages, index).wire;
  const keyed = provider.kind === "keyed";
  const step = (said: string, next: World, regular = true): Step => ({
    who,
    does: `request of worker ${index + 1} ${verb}, wire key ${wire}`,
    said,
    regular,
    world: next,
  });
  const saved = (next: World, key: Partial<Key> | undefined): World =>
    keyed
      ? { ...next, keys: replaced(next.keys, wire, { ...noKey, arrivedAt: world.now, ...key }) }
      : next;
  const steps: Step[] = [];
  if (world.effects.length < maxEffects) steps.push(...performing(lab, world, index, step, saved));
  if (provider.declines) {
    const key = provider.savesDeclines ? ({ state: "declined" } as const) : undefined;
    steps.push(step("DECLINES it", saved(replied(world, index, "declined"), key), false));
  }
  if (provider.errors === "before") {
    const key = errorKey(lab, 0);
    steps.push(
      step("fails with an error, no effect", saved(replied(world, index, "error"), key), false),
    );
  }
  if (provider.turnsAway && verb === "arrives") {
    steps.push(step("turns it away unread", replied(world, index, "turned-away"), false));
  }
  return steps;
}

function performing(
  lab: Lab,
  world: World,
  index: number,
  step: (said: string, next: World, regular?: boolean) => Step,
  saved: (next: World, key: Partial<Key> | undefined) => World,
): Step[] {
  const { provider } = lab.setting;
  const number = world.effects.length + 1;
  const status = provider.pends ? "pending" : "succeeded";
  const effect: Effect = {
    payload: itemAt(world.messages, index).payload,
    landedAt: world.now,
    visible: false,
    status,
  };
  const landed: World = { ...world, effects: [...world.effects, effect] };
  if (provider.pends) {
    const accepted = replied(landed, index, "accepted", number);
    return [step(`accepts it: effect ${number} is pending`, saved(accepted, { state: "error" }))];
  }
  const ok = saved(replied(landed, index, "ok", number), { state: "ok", effect: number });
  const steps = [step(`EFFECT ${number}`, ok)];
  if (provider.errors === "after") {
    const failed = saved(replied(landed, index, "error"), errorKey(lab, number));
    steps.push(step(`EFFECT ${number}, but answers with an error`, failed, false));
  }
  return steps;
}

function errorKey(lab: Lab, effect: number): Partial<Key> | undefined {
  switch (lab.setting.provider.afterError) {
    case "replays":
      return { state: "error", effect };
    case "re-executes":
      return effect === 0 ? undefined : { state: "error", effect };
    case "burnt":
      return { state: "burnt" };
    case "not-saved":
      return undefined;
  }
}

function forgetting(lab: Lab, world: World): Step[] {
  const { retention } = lab.setting.provider;
  if (retention >= forEver) return [];
  return world.keys.flatMap((key, wire) => {
    const kept = key.state === "none" || key.state === "burnt" || key.state === "running";
    if (kept || world.now < key.arrivedAt + retention) return [];
    const keys = replaced(world.keys, wire, noKey);
    return [
      { who, does: `forgets wire key ${wire}`, said: "", regular: true, world: { ...world, keys } },
    ];
  });
}

function showing(lab: Lab, world: World): Step[] {
  if (lab.setting.provider.lookUp !== "laggy") return [];
  return world.effects.flatMap((effect, index) => {
    if (effect.visible) return [];
    const effects = replaced(world.effects, index, { visible: true });
    const does = `its look-up shows effect ${index + 1} from now on`;
    return [{ who, does, said: "", regular: true, world: { ...world, effects } }];
  });
}

function deciding(lab: Lab, world: World): Step[] {
  if (!lab.setting.provider.pends) return [];
  return world.effects.flatMap((effect, index) => {
    if (effect.status !== "pending") return [];
    const to = (status: Effect["status"], does: string): Step => {
      const effects = replaced(world.effects, index, { status });
      return { who, does, said: "", regular: true, world: { ...world, effects } };
    };
    return [
      to("succeeded", `effect ${index + 1} comes to be`),
      to("failed", `effect ${index + 1} comes to nothing`),
    ];
  });
}

function closing(lab: Lab, world: World): Step[] {
  if (!lab.setting.provider.closes || world.closed || world.effects.length > 0) return [];
  const next = { ...world, closed: true };
  return [{ who, does: "closes the matter for good", said: "", regular: false, world: next }];
}

/** True while an effect must first become visible before time may go on. */
export function mustShow(lab: Lab, world: World): boolean {
  const { lookUp, lag } = lab.setting.provider;
  if (lookUp !== "laggy" || lag >= forEver) return false;
  return world.effects.some(({ visible, landedAt }) => !visible && world.now >= landedAt + lag);
}

/** One answer that the look-up may give now. */
export interface LookUpAnswer {
  readonly finding: Finding;
  readonly effect: number;
  readonly said: string;
  readonly regular: boolean;
}

/** Every answer that the look-up may give now, as `guard/look-up.ts` would interpret it. */
export function lookUpAnswers(lab: Lab, world: World): LookUpAnswer[] {
  const { provider } = lab.setting;
  const shown = world.effects
    .map((effect, index) => ({ ...effect, number: index + 1 }))
    .filter(({ visible }) => visible || provider.lookUp === "sync");
  const answers: LookUpAnswer[] = [foundAnswer(world, shown)];
  if (provider.unsure) {
    const finding = { kind: "unsure", reason: "no answer" } as const;
    answers.push({ finding, effect: 0, said: "no answer", regular: false });
  }
  if (provider.foreign && shown.length === 0) {
    const finding = { kind: "contradiction", reason: "other arguments" } as const;
    answers.push({ finding, effect: 7, said: "found one with other arguments", regular: false });
  }
  return answers;
}

function foundAnswer(
  world: World,
  shown: readonly (Effect & { readonly number: number })[],
): LookUpAnswer {
  const [only, ...others] = shown;
  if (only === undefined) {
    const finding = { kind: "absent", final: world.closed } as const;
    const said = world.closed ? "absent, and for good" : "absent";
    return { finding, effect: 0, said, regular: true };
  }
  if (others.length > 0) {
    const finding = { kind: "contradiction", reason: "several effects" } as const;
    return { finding, effect: 0, said: `found ${shown.length}`, regular: true };
  }
  const said = `found effect ${only.number}, ${only.status}`;
  return { finding: { kind: only.status }, effect: only.number, said, regular: true };
}
