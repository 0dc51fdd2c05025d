// Fetches the page again every few seconds, and merges what has changed into it: focus, selection and scrolling stay. It rests in a
// hidden tab, while a form is being filled in, and where the page says that it is not live.
"use strict";
(() => {
  const every = 5000;
  const state = document.querySelector("[data-live]");
  if (!state) return;
  let tag = null;
  let paused = false;
  const button = document.createElement("button");
  const label = () => { button.textContent = paused ? "resume" : "pause"; };
  button.type = "button";
  button.addEventListener("click", () => { paused = !paused; label(); });
  label();
  state.parentElement.append(button);
  const editing = () => document.activeElement && document.activeElement.matches("input, select, textarea");
  const say = (text) => { state.lastElementChild.textContent = text; state.classList.toggle("on", text === "live"); };
  const look = async () => {
    if (paused || document.hidden || editing()) return;
    try {
      const answer = await fetch(location.href, {headers: tag ? {"if-none-match": tag} : {}, cache: "no-store"});
      if (answer.status === 304) return say("live");
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      const content = next.querySelector("[data-content]");
      if (!content) return say("not live: " + answer.status);
      tag = answer.headers.get("etag");
      Idiomorph.morph(document.querySelector("[data-content]"), content);
      const at = next.querySelector("[data-at]");
      if (at) document.querySelector("[data-at]").textContent = at.textContent;
      say("live");
    } catch (error) {
      say("no answer");
    }
  };
  setInterval(look, every);
})();
