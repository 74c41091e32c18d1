// What a number came from and where it goes: structure only, no arithmetic.
// Each entry is [array, [row or null, column or null]]; null stands for the whole axis.

/**
 * @param array name; index: of one entry, without the position for the arrays that have one
 */
export function sources(array, index) {
  const [first, second] = index;
  const keyOf = (j) => [["x", [null]], ["w1", [j, null]], ["b1", [j]], ["hidden", [j]]];
  const fires = (j) => [["activated", [j]], ["activated_other", [j]]];
  const writes = (j) => [["w2", [null, j]]];
  const sum = (i) => [["w2", [i, null]], ["b2", [i]], ["activated", [null]], ["output", [i]]];
  switch (array) {
    case "x":
      return [["x", [first]], ["w1", [null, first]], ["residual", [first]]];
    case "w1":
      return [["w1", [first, second]], ["x", [second]], ["hidden", [first]]];
    case "b1":
      return [["b1", [first]], ["hidden", [first]]];
    case "hidden":
      return keyOf(first);
    case "activated":
    case "activated_other":
      return [["hidden", [first]], ...fires(first), ...writes(first)];
    case "w2":
      return [["w2", [first, second]], ["activated", [second]], ["output", [first]]];
    case "b2":
      return [["b2", [first]], ["output", [first]]];
    case "output":
      return sum(first);
    case "output_other":
      return [["w2", [first, null]], ["b2", [first]], ["activated_other", [null]], ["output_other", [first]]];
    case "residual":
      return [["x", [first]], ["output", [first]], ["residual", [first]]];
    case "neuron":
      return [...keyOf(first), ...fires(first), ...writes(first)];
    default:
      return [];
  }
}

/** The arrays that each step of the walk is about. */
export const STEPS = [
  ["x", "w1", "b1", "hidden"],
  ["hidden", "activated", "activated_other"],
  ["activated", "activated_other", "w2", "b2", "output", "output_other"],
  ["x", "output", "residual"],
];
