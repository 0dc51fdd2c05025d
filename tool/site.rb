# frozen_string_literal: true

require "cgi/escape"
require "fileutils"
require "json"
require "uri"
require_relative "environment"
require_relative "../lib/guildhall/version"

# The web site, in build/site: the pages of docs, README and API documentation. docs/*.md stay Markdown as GitHub shows it; here they
# lose their comments (set-up of examples, marks of generated parts), and their links lead to pages of the site. VitePress makes the HTML
# and the search, YARD the API documentation; a link that leads nowhere fails the build. SITE_BASE=/guildhall/ is for a site that is not at
# the root of its host.
class Site
  # The build has failed; the message says what to do.
  class Failed < StandardError; end

  ROOT = Environment::ROOT
  INDEX = "docs/README.md"
  GENERATOR = File.join(ROOT, "build", "site-generator")
  OUTPUT = File.join(ROOT, "build", "site")
  UNTRACKED = "docs/tests.md" # each checkout's own
  FENCE = /^```.*?^```$/m

  # @return [Hash{String=>String}] path in the checkout => path in the site, without its extension
  def pages
    @pages ||= (Dir["{README,CONTRIBUTING,SECURITY,CHANGELOG}.md", "docs/*.md", base: ROOT] - [UNTRACKED]).sort
      .to_h { |path| [path, place(path)] }
  end

  # What docs/README.md lists: its headings, and below each the pages that are named there, each page once, by its own title.
  # @return [Array<Hash>] as VitePress has it
  def navigation
    listed = []
    sections = text(INDEX).split(/^## /).drop(1).map do |section|
      items = section.scan(/\]\(([^)#\s]+\.md)\)/).flatten.filter_map do |link|
        path = resolve(link, INDEX)
        next if listed.include?(path) || !pages.key?(path)

        listed << path
        {text: text(path)[/^# (.+)$/, 1], link: "/#{pages[path]}"}
      end
      {text: section.lines.first.chomp, collapsed: false, items:}
    end
    sections.reject { |section| section[:items].empty? }
  end

  # @param path [String] of a page in the checkout
  # @return [String] the page as the generator reads it
  # @raise [Failed] a link leads to no file
  def page(path)
    body = text(path).gsub(/#{FENCE}|^<!--.*?-->\n*/mo) { |part| part.start_with?("<!--") ? "" : part }
    body = body.split(/(#{FENCE})/o).map { |part| part.start_with?("```") ? part : links(themes(part), path) }.join
    "---\nedit: #{Guildhall::HOMEPAGE}/edit/main/#{path}\nsearch: #{path != "CHANGELOG.md"}\n---\n#{body}"
  end

  # @return [String] the folder
  def build
    FileUtils.rm_rf(OUTPUT)
    write_pages
    generate
    write_api
    faults = SiteLinks.new(OUTPUT, base).faults
    raise Failed, "links of the site that lead nowhere, or pages that no link leads to:\n#{faults.join("\n")}" if faults.any?

    OUTPUT
  end

  private

  def text(path) = File.read(File.join(ROOT, path), encoding: "UTF-8")

  def base = ENV.fetch("SITE_BASE", "/")

  def place(path)
    {"README.md" => "index", INDEX => "guides"}.fetch(path) { path.delete_prefix("docs/").delete_suffix(".md").downcase }
  end

  def resolve(link, from)
    address = link[%r{\A#{Regexp.escape(Guildhall::HOMEPAGE)}/(?:blob|tree)/main/(.+)}o, 1]
    address || File.expand_path(link, "/#{File.dirname(from)}").delete_prefix("/")
  end

  # Code between backticks is left alone.
  def links(part, from)
    part.gsub(/(?<code>(?<ticks>`+).+?\k<ticks>)|(?<before>\]\(|\bsrc="|\bhref=")(?<link>[^)"\s]+)/m) do
      match = Regexp.last_match
      match[:code] || "#{match[:before]}#{target(match[:link], from)}"
    end
  end

  def target(link, from)
    return link if link.start_with?("#") || (link.match?(/\A\w+:/) && !link.start_with?("#{Guildhall::HOMEPAGE}/blob/main/"))

    file, anchor = link.split("#", 2)
    path = resolve(file, from)
    return ["/#{pages[path]}", anchor].compact.join("#") if pages.key?(path)
    return "/#{path.delete_prefix("docs/")}" if path.start_with?("docs/images/")

    raise Failed, "#{from} links to #{link}: there is no such file" unless File.exist?(File.join(ROOT, path))

    "#{Guildhall::HOMEPAGE}/blob/main/#{path}"
  end

  # A picture for each theme follows the site's switch; GitHub's way, <picture>, follows the system.
  def themes(part)
    part.gsub(%r{<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*<img src="([^"]+)"([^>]*)>\s*</picture>}) do
      dark, light, more = Regexp.last_match.captures
      %(<img class="light" src="#{light}"#{more}><img class="dark" src="#{dark}"#{more}>)
    end
  end

  def write_pages
    FileUtils.rm_rf([File.join(GENERATOR, "pages"), File.join(GENERATOR, ".vitepress")])
    FileUtils.mkdir_p(File.join(GENERATOR, "pages/public"))
    FileUtils.cp_r(File.join(ROOT, "tool/site/."), GENERATOR)
    FileUtils.cp_r(File.join(ROOT, "docs/images"), File.join(GENERATOR, "pages/public"))
    pages.each do |path, place|
      file = File.join(GENERATOR, "pages", "#{place}.md")
      FileUtils.mkdir_p(File.dirname(file))
      File.write(file, page(path))
    end
    about = {output: OUTPUT, base:, navigation:, homepage: Guildhall::HOMEPAGE, version: Guildhall::VERSION,
             description: text("README.md")[/^[A-Z][^\n]+/]}
    File.write(File.join(GENERATOR, "site.json"), JSON.pretty_generate(about))
  end

  def generate
    lock = File.read(File.join(GENERATOR, "package-lock.json"))
    installed = File.join(GENERATOR, "node_modules", "installed.json")
    unless File.exist?(installed) && File.read(installed) == lock
      run("npm", "ci", "--silent", advice: "is npm installed (apt-get install npm), and its registry reachable?")
      File.write(installed, lock)
    end
    run("node_modules/.bin/vitepress", "build", advice: "see above; the pages as VitePress reads them are in #{GENERATOR}/pages")
  end

  # The settings of .yardopts, without the pages: the site has them already.
  def write_api
    readme = "build/site-generator/api.md" # YARD takes no path outside the folder that it runs in
    File.write(File.join(ROOT, readme), <<~MARKDOWN)
      # API of Guildhall #{Guildhall::VERSION}

      Classes and methods, from the source. [The guides](#{base}guides.html) show how to use them.
    MARKDOWN
    options = File.readlines(File.join(ROOT, ".yardopts"), chomp: true).take_while { |line| line != "-" }.grep_v(/\A--(?:readme|output)/)
    yard = [Gem.bin_path("yard", "yard"), "doc", "--no-yardopts", "--quiet", *options.flat_map { |line| line.split(" ", 2) },
            "--output-dir", File.join(OUTPUT, "api"), "--readme", readme, "--db", File.join(GENERATOR, "yardoc"),
            "--title", "Guildhall #{Guildhall::VERSION}"]
    run(RbConfig.ruby, *yard, advice: "see above", chdir: ROOT)
    FileUtils.cp(File.join(ROOT, "tool/site/api.css"), File.join(OUTPUT, "api/css/common.css"))
    Dir[File.join(OUTPUT, "api/**/*.html")].each { |path| unlink_private(path) }
  end

  # In the source of a method, YARD also links the constants of classes that have no page, because they are private.
  def unlink_private(path)
    html = File.read(path, encoding: "UTF-8")
    changed = html.gsub(%r{<a href="(?<to>[^"#:]+)#[^"]+-constant"[^>]*>(?<text>.*?)</a>}m) do |link|
      File.exist?(File.expand_path(Regexp.last_match[:to], File.dirname(path))) ? link : Regexp.last_match[:text]
    end
    File.write(path, changed) unless changed == html
  end

  def run(*command, advice:, chdir: GENERATOR)
    raise Failed, "#{command.first(2).join(" ")} failed; #{advice}" unless system(*command, chdir:, in: File::NULL)
  rescue Errno::ENOENT
    raise Failed, "there is no #{command.first}; #{advice}"
  end
end

# Reads the HTML of a folder, and follows every link within it, from the first page on.
class SiteLinks
  Page = Data.define(:links, :anchors)
  # What a server shows by itself, and other addresses of the API's first page.
  ALONE = ["404.html", "api/frames.html", "api/file.api.html"].freeze

  # @param folder [String]
  # @param base [String] the folder's path on its host
  def initialize(folder, base)
    @folder = folder
    @base = base
    @pages = Dir["**/*.html", base: folder].to_h { |path| [path, read(path)] }
  end

  # @return [Array<String>] links to a file or an anchor that is not there, and pages that no link leads to
  def faults
    lost = @pages.flat_map do |path, page|
      page.links.reject { |file, anchor| there?(file, anchor) }.map { |to| "#{path}: #{to.compact.join("#")}" }
    end
    lost + (@pages.keys - reached - ALONE).map { |path| "#{path}: no link leads there" }
  end

  private

  def read(path)
    html = File.read(File.join(@folder, path), encoding: "UTF-8").gsub(%r{<script\b.*?</script>}m, "")
    values = html.scan(/\s(?:href|src)=(["'])(.*?)\1/m).map { |_, value| CGI.unescapeHTML(value) }
    anchors = html.scan(/\s(?:id|name)=(["'])(.*?)\1/m).map { |_, value| CGI.unescapeHTML(value) }
    Page.new(links: values.filter_map { |value| place(value, path) }.uniq, anchors:)
  end

  # @return [Array(String, String), nil] the file and the anchor, nil for what is elsewhere
  def place(link, from)
    return if link.empty? || link.match?(%r{\A(?:[a-z][a-z0-9+.-]*:|//)}i)

    path, anchor = link.split("#", 2)
    path = path.split("?").first.to_s
    file = path.empty? ? from : URI.decode_uri_component(File.expand_path(path, "#{@base}#{File.dirname(from)}")).delete_prefix(@base)
    file = [file, "index.html"].reject(&:empty?).join("/") if file.empty? || File.directory?(File.join(@folder, file))
    [file, (URI.decode_uri_component(anchor) unless anchor.to_s.empty?)]
  end

  def there?(file, anchor)
    File.file?(File.join(@folder, file)) && (anchor.nil? || !@pages.key?(file) || @pages[file].anchors.include?(anchor))
  end

  def reached
    found = []
    left = ["index.html"]
    while (path = left.pop)
      next if found.include?(path) || !@pages.key?(path)

      found << path
      left.concat(@pages[path].links.map(&:first))
    end
    found
  end
end
