// The zero-centred diverging scale; the twin of ffn_app/theme.py (a browser test compares them).

const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

/** The colour of a signed number as #rrggbb: straight between the stops, full beyond ±span. */
export function divergingColour(value, span, stops) {
  const share = span <= 0 || Number.isNaN(value) ? 0 : Math.max(-1, Math.min(1, value / span));
  const place = ((share + 1) / 2) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  const from = channels(stops[low]);
  const to = channels(stops[low + 1]);
  return "#" + from.map((a, i) => Math.floor(a + (to[i] - a) * (place - low) + 0.5).toString(16).padStart(2, "0")).join("");
}

/** Black or white, whichever contrasts more with the colour. */
export function inkOn(colour) {
  const linear = (channel) => {
    const c = channel / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  const [red, green, blue] = channels(colour).map(linear);
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return (luminance + 0.05) ** 2 > 0.0525 ? "#000000" : "#ffffff";
}

/** Whether the page is dark, from Streamlit's background colour. */
export function isDark(element) {
  const colour = getComputedStyle(element).getPropertyValue("--st-background-color").trim();
  if (/^#[0-9a-f]{6}$/i.test(colour)) return inkOn(colour) === "#ffffff";
  const parts = colour.match(/[0-9.]+/g);
  return parts !== null && parts.length >= 3 && Number(parts[0]) + Number(parts[1]) + Number(parts[2]) < 380;
}
