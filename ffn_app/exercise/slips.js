// Slips of the pen that Python refuses to read, found in the text: Brython often names a wrong line for them, or says
// "invalid syntax" alone. The words are Python's own.

// Strings and comments; a string may be open at the end of its line, which leaves its quote.
const TEXTS = /("""|''')(?:\\[\s\S]|(?!\1)[\s\S])*\1|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'|#.*/g;
const JOINED = "\0"; // in place of an end of line that ends no statement
const PRINTS = /^\s*print\s+[\w"']/;

/** Each statement: the line that it begins in, its indentation, and its text with _ for each string, without comments. */
function statements(code) {
  const plain = code
    .replace(TEXTS, (text) => (text.startsWith("#") ? "" : `_${JOINED.repeat(text.split("\n").length - 1)}`))
    .replace(/\\\n/g, JOINED);
  const found = [];
  let line = 1;
  let depth = 0; // of brackets
  for (const row of plain.split("\n")) {
    if (depth > 0) found.at(-1).text += row;
    else if (row.trim()) found.push({ line, indent: row.match(/^[ \t]*/)[0], text: row });
    for (const letter of row) depth += "([{".includes(letter) - ")]}".includes(letter);
    depth = Math.max(depth, 0);
    line += row.split(JOINED).length;
  }
  return found;
}

/** How wide an indentation is where a tab goes to the next multiple of `stop`. */
const width = (indent, stop) => [...indent].reduce((at, letter) => (letter === "\t" ? at + stop - (at % stop) : at + 1), 0);

/** The first slip as {error, text, line}: the error that Python calls it, what it says, and where; null if there is none. */
export function slipOf(code) {
  const all = statements(code);
  const blocks = [{ wide: 0, narrow: 0 }]; // as Python compares them: with tabs of 8 and of 1
  let opens = false;
  for (const { line, indent, text } of all) {
    const slip = (error, said) => ({ error, text: said, line });
    const tabs = slip("TabError", "inconsistent use of tabs and spaces in indentation");
    const [wide, narrow] = [width(indent, 8), width(indent, 1)];
    if (wide > blocks.at(-1).wide) {
      if (narrow <= blocks.at(-1).narrow) return tabs;
      if (!opens) return slip("IndentationError", "unexpected indent");
      blocks.push({ wide, narrow });
    } else {
      while (blocks.at(-1).wide > wide) blocks.pop();
      if (blocks.at(-1).wide !== wide) return slip("IndentationError", "unindent does not match any outer indentation level");
      if (blocks.at(-1).narrow !== narrow) return tabs;
      if (opens) return slip("IndentationError", "expected an indented block");
    }
    if (/["']/.test(text)) return slip("SyntaxError", "unterminated string literal");
    if (PRINTS.test(text)) return slip("SyntaxError", "Missing parentheses in call to 'print': write print(...)");
    opens = text.trimEnd().endsWith(":");
  }
  return opens ? { error: "IndentationError", text: "expected an indented block", line: all.at(-1).line } : null;
}

/** The line itself, or the last one before it that has something on it: an error may be said of the end of the text. */
export function writtenLine(code, line) {
  const lines = code.split("\n").slice(0, line);
  while (lines.length > 1 && !lines.at(-1).trim()) lines.pop();
  return lines.length;
}
