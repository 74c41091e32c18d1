// What a number came from and where it goes: structure only, no arithmetic.
// Each entry is [array, [row or null, column or null]]; null stands for the whole axis. An array that a board does not
// draw is passed over, so one table serves all kinds of network.

const KEYS = { w1: "hidden", w_gate: "hidden", w_up: "up", router: "router_logits" };
const VALUES = ["w2", "w_down"];
const fires = (j) => [["activated", [j]], ["activated_other", [j]]];
const writes = (j) => VALUES.map((values) => [values, [null, j]]);
const reads = (j, made) => [["x", [null]], ...Object.keys(KEYS).filter((keys) => KEYS[keys] === made).map((keys) => [keys, [j, null]]), [made, [j]]];
const keyOf = (j) => [...reads(j, "hidden"), ["b1", [j]]];

/** The arrays with a line or an entry for each neuron, or for each expert, in which a press on a number follows it. */
export const FOLLOWED = new Set(["hidden", "up", "activated", "activated_other", "router_logits", "router_probs", "weight_of_expert", "output_of_expert"]);

/**
 * @param array name; index: of one entry, without the position or expert in front
 */
export function sources(array, index) {
  const [first, second] = index;
  const sum = (output, fired) => [...VALUES.map((values) => [values, [first, null]]), ["b2", [first]], [fired, [null]], ["weight_of_expert", [null]], ["output_of_expert", [null, first]], [output, [first]]];
  switch (array) {
    case "x":
      return [["x", [first]], ...Object.keys(KEYS).map((keys) => [keys, [null, first]]), ["residual", [first]]];
    case "w1":
    case "w_gate":
    case "w_up":
    case "router":
      return [[array, [first, second]], ["x", [second]], [KEYS[array], [first]]];
    case "b1":
      return [["b1", [first]], ["hidden", [first]]];
    case "hidden":
      return keyOf(first);
    case "up":
    case "router_logits":
      return reads(first, array);
    case "activated":
    case "activated_other":
      return [["hidden", [first]], ["up", [first]], ...fires(first), ...writes(first)];
    case "w2":
    case "w_down":
      return [[array, [first, second]], ["activated", [second]], ["output", [first]], ["expert_output", [first]]];
    case "b2":
      return [["b2", [first]], ["output", [first]], ["expert_output", [first]]];
    case "router_probs":
      return [["router_logits", [null]], ["router_probs", [first]]];
    case "weight_of_expert":
      return [["router_probs", [null]], ["weight_of_expert", [first]]];
    case "output_of_expert":
      return [["x", [null]], ["weight_of_expert", [first]], ["output_of_expert", [first, second]], ["output", [second]]];
    case "output":
    case "expert_output":
      return sum(array, "activated");
    case "output_other":
    case "expert_output_other":
      return sum(array, "activated_other");
    case "residual":
      return [["x", [first]], ["output", [first]], ["residual", [first]]];
    default:
      return [];
  }
}

/** The arrays that each step of the walk is about. */
export const STEPS = [
  ["x", "w1", "b1", "w_gate", "w_up", "up", "hidden", "router", "router_logits"],
  ["hidden", "up", "activated", "activated_other", "router_logits", "router_probs", "weight_of_expert"],
  ["activated", "activated_other", "w2", "b2", "w_down", "weight_of_expert", "output_of_expert", "output", "output_other"],
  ["x", "output", "residual"],
];
