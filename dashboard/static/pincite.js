"use strict";
(() => {
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Notes: what happened, said to everyone.
  const say = (words, wrong = false) => {
    const note = document.createElement("p");
    note.textContent = words;
    note.className = wrong ? "note wrong" : "note";
    if (wrong) note.setAttribute("role", "alert");
    const close = document.createElement("button");
    close.type = "button";
    close.className = "quiet";
    close.textContent = "Close";
    close.addEventListener("click", () => note.remove());
    note.append(" ", close);
    one("#notes").append(note);
    if (!wrong) setTimeout(() => note.remove(), 8000);
  };
  document.addEventListener("note", (event) => say(event.detail.value));
  document.addEventListener("htmx:responseError", (event) => {
    let words = "The server answered with " + event.detail.xhr.status + ".";
    try {
      const problem = JSON.parse(event.detail.xhr.responseText);
      words = [problem.detail, problem.remedy].filter(Boolean).join(" – ");
    } catch { /* no problem in JSON: the status says it */ }
    say(words, true);
  });
  document.addEventListener("htmx:sendError", () => say("The server can’t be reached. It is asked again with the next action.", true));

  // Live: what the server says of runs, and the counts anew when one has ended.
  const live = one("[data-events]");
  if (live) {
    let told = null; // what was last shown; an answer to a button may have shown an older state since
    live.addEventListener("htmx:afterSwap", (event) => { if (event.target === live) told = null; });
    const events = new EventSource(live.dataset.events);
    events.addEventListener("live", (event) => {
      if (event.data === told) return;
      told = event.data;
      live.innerHTML = told;
      htmx.process(live);
    });
    events.addEventListener("over", () => {
      events.close(); // it would ask again and again
      say("This session has ended: load the page again to sign in.", true);
    });
    events.addEventListener("ended", () => {
      say("The run has ended.");
      const summary = one("#summary");
      if (summary) htmx.trigger(summary, "refresh");
      htmx.trigger(document.body, "retried");
    });
  }

  // Choosing all rows of a page; files that are too large are told before they are sent.
  document.addEventListener("change", (event) => {
    const box = event.target;
    if (box.dataset && box.dataset.all) {
      all(`input[name="${box.dataset.all}"]`, box.form).forEach((other) => { other.checked = box.checked; });
    }
    const form = box.form;
    if (box.type === "file" && form && form.dataset.size) {
      const large = box.files[0] && box.files[0].size > Number(form.dataset.size);
      box.setCustomValidity(large ? "The file is larger than this server takes." : "");
      box.reportValidity();
    }
  });

  // The threshold: what it would pass and refuse, while it moves.
  const slider = one("#threshold");
  const cut = () => {
    const threshold = Number(slider.value);
    const hits = all("[data-distance]");
    let passed = 0;
    hits.forEach((hit) => {
      const under = hit.dataset.distance !== "" && Number(hit.dataset.distance) < threshold && passed < 4;
      hit.classList.toggle("refused", !under);
      one(".verdict", hit).textContent = under ? "passes" : "refused";
      passed += under ? 1 : 0;
    });
    one("#threshold-value").textContent = threshold.toFixed(3);
    const told = one("#cut");
    if (told) {
      told.textContent = hits.length === 0 ? "" : passed === 0
        ? `NO ANSWER: nothing under cosine distance ${threshold.toFixed(3)}`
        : `${passed} of these ${hits.length} would be given as sources, ${hits.length - passed} refused.`;
    }
  };
  if (slider) {
    slider.addEventListener("input", cut);
    cut();
  }

  // An answer as it is written.
  const ask = one("#ask");
  const stream = async (form) => {
    const shown = one("#answer");
    const words = one("#answer-words");
    shown.hidden = false;
    words.textContent = "";
    shown.setAttribute("aria-busy", "true");
    const body = { question: form.q.value, mode: form.mode.value === "bm25" ? "hybrid" : form.mode.value };
    if (slider) body.threshold = Number(slider.value);
    const response = await fetch("/ask", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "text/event-stream", "X-CSRF-Token": document.body.dataset.csrf },
      body: JSON.stringify(body),
    });
    if (!response.ok || !response.body) {
      const problem = await response.json();
      say([problem.detail, problem.remedy].filter(Boolean).join(" – "), true);
      shown.hidden = true;
      return;
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      blocks.forEach((block) => took(block, words));
    }
    shown.removeAttribute("aria-busy");
  };
  const took = (block, words) => {
    const name = /^event: (.*)$/m.exec(block);
    const data = /^data: (.*)$/m.exec(block);
    if (!name || !data) return;
    const value = JSON.parse(data[1]);
    if (name[1] === "piece") words.append(value.text);
    if (name[1] === "error") say([value.detail, value.remedy].filter(Boolean).join(" – "), true);
    if (name[1] === "found" || name[1] === "done") cited(value, words, name[1] === "done");
  };
  const cited = (result, words, over) => {
    const list = one("#answer-citations");
    list.replaceChildren(...result.citations.map((citation) => {
      const item = document.createElement("li");
      item.value = citation.index;
      if (over && result.cited.includes(citation.index)) item.className = "cited";
      const link = document.createElement("a");
      link.href = `/ui/documents/${encodeURIComponent(citation.document_id)}/passage?start=${citation.start}&end=${citation.end}`;
      link.textContent = citation.document;
      const quote = document.createElement("blockquote");
      quote.textContent = citation.quote;
      item.append(link, ` ${citation.label} · ${citation.verified ? "verified" : "not verified"}`, quote);
      return item;
    }));
    if (!over) return;
    if (result.refused) words.textContent = result.message;
    else if (result.answer === null) words.textContent = "No answering model is set: these are the sources for one.";
    const doubts = result.unresolved.map((one) => one.text || one.reason || "").filter(Boolean);
    one("#answer-doubts").textContent = doubts.length ? `Not resolved: ${doubts.join("; ")}` : "";
  };
  if (ask) ask.addEventListener("click", () => stream(ask.form).catch((error) => say(String(error), true)));

  // The layers that are drawn over a page.
  document.addEventListener("change", (event) => {
    const layer = event.target.dataset && event.target.dataset.layer;
    if (layer) document.body.classList.toggle(`without-${layer}`, !event.target.checked);
  });
  const passage = one("#passage");
  if (passage) passage.scrollIntoView({ block: "center" });
})();
