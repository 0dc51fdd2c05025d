import { readFileSync } from "node:fs"
import { defineConfig } from "vitepress"

// Written by tool/site.rb, beside the pages.
const site = JSON.parse(readFileSync(new URL("../site.json", import.meta.url)))

export default defineConfig({
  srcDir: "pages",
  outDir: site.output,
  base: site.base,
  lang: "en",
  title: "Guildhall",
  description: site.description,
  head: [["link", { rel: "icon", href: "data:," }]],
  markdown: {
    // As GitHub makes the anchor of a heading.
    anchor: { slugify: (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-") },
    config(markdown) {
      const fence = markdown.renderer.rules.fence
      markdown.renderer.rules.fence = (tokens, index, ...rest) =>
        tokens[index].info.trim() === "mermaid"
          ? `<Diagram source="${encodeURIComponent(tokens[index].content)}" />`
          : fence(tokens, index, ...rest)
    },
  },
  themeConfig: {
    nav: [
      { text: "Guides", link: "/guides" },
      { text: "API", link: "/api/index.html", target: "_self" },
      { text: "Changelog", link: "/changelog" },
    ],
    sidebar: site.navigation,
    outline: [2, 3],
    search: {
      provider: "local",
      // max_consume_time is one word; all words of a search have to be there.
      options: {
        miniSearch: {
          options: { tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u) },
          searchOptions: { combineWith: "AND", fuzzy: 0.1, prefix: true, boost: { title: 4, text: 2, titles: 1 } },
        },
      },
    },
    socialLinks: [{ icon: "github", link: site.homepage }],
    editLink: { pattern: ({ frontmatter }) => frontmatter.edit, text: "Edit this page" },
    footer: { message: `Guildhall ${site.version}, MIT licence` },
  },
  vite: { build: { chunkSizeWarningLimit: 2000 } }, // the index of the search
  // The build of tool/site.rb checks links and anchors in what comes out, the API documentation included.
  ignoreDeadLinks: true,
})
