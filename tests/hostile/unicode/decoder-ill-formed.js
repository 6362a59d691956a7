// expect: completed ["\ufffd\ufffd", "\ufffd", "TypeError"]
const d = new TextDecoder(); let f; try { new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([0xc0])); } catch (e) { f = e.name; }
return [d.decode(new Uint8Array([0xc0, 0xaf])), d.decode(new Uint8Array([0xe2, 0x82])), f];
