// A reference client in JavaScript for `codemode serve --http`: plain fetch, no dependency.
//
// The API is docs/http.md. Copy this file and change it.
//
//   const engine = new HttpEngine("http://127.0.0.1:8000", token);
//   let result = await engine.exec("return await tools.add({ a: 1, b: 2 })", { session: "s1" });
//   while (result.status === "waiting" && result.reason !== "approval") result = await engine.wait(result.runId);

/** The server refused the request; a program that fails is a result and no error. */
export class Refused extends Error {
  constructor({ status, code, message }) {
    super(`${code}: ${message}`);
    this.name = "Refused";
    Object.assign(this, { status, code });
  }
}

export class HttpEngine {
  #url;
  #headers;

  constructor(url, token = null) {
    this.#url = url.replace(/\/+$/, "");
    this.#headers = token === null ? {} : { authorization: `Bearer ${token}` };
  }

  exec(code, given = {}) {
    return this.post("/v1/exec", { code, ...given });
  }

  wait(runId, given = {}) {
    return this.post(`/v1/runs/${encodeURIComponent(runId)}/wait`, given);
  }

  async approvals(query = {}) {
    return (await this.get("/v1/approvals", query)).approvals;
  }

  /** What was shown is what is approved: its digest goes along. */
  approve(asked, value = null) {
    return this.#decide(asked, "approve", { value, argumentsSha256: asked.argumentsSha256 });
  }

  deny(asked, reason = "") {
    return this.#decide(asked, "deny", { reason });
  }

  #decide({ runId, id }, how, body) {
    return this.post(`/v1/runs/${encodeURIComponent(runId)}/approvals/${encodeURIComponent(id)}/${how}`, body);
  }

  /** Events from now on, or behind the event of that id; each has its own as `id`. */
  async *events({ after = "", ...query } = {}) {
    const headers = after ? { "last-event-id": after } : {};
    const answer = await this.#open("GET", "/v1/events", null, query, headers);
    let text = "";
    for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
        const fields = Object.fromEntries(text.slice(0, end).split("\n").map((line) => line.split(/: (.*)/s)));
        if (fields.data) yield { ...JSON.parse(fields.data), id: fields.id };
      }
    }
  }

  async get(path, query = {}) {
    return (await this.#open("GET", path, null, query, {})).json();
  }

  async post(path, body) {
    return (await this.#open("POST", path, body, {}, { "content-type": "application/json" })).json();
  }

  async #open(method, path, body, query, headers) {
    const words = new URLSearchParams(query).toString();
    const answer = await fetch(this.#url + path + (words && `?${words}`), {
      method,
      headers: { ...this.#headers, ...headers },
      body: body === null ? undefined : JSON.stringify(body),
    });
    if (answer.ok) return answer;
    const told = await answer.json().catch(() => ({}));
    throw new Refused(told.error ?? { status: answer.status, code: "unknown", message: answer.statusText });
  }
}
