# frozen_string_literal: true

require "test_helper"
require "json"
require "tmpdir"
require_relative "../tool/site"

# What the web site is made from; `bin/rake site` builds it, and checks its links.
class SiteTest < GuildhallTest
  SITE = Site.new

  def test_every_guide_is_in_the_navigation_once
    listed = SITE.navigation.flat_map { |section| section[:items].map { |item| item[:link].delete_prefix("/") } }
    guides = SITE.pages.select { |path, _| path.start_with?("docs/") }.values - ["guides"]
    assert_equal listed.uniq, listed
    assert_empty guides - listed
  end

  def test_the_navigation_has_the_headings_of_the_list_of_guides
    headings = File.read(File.join(Site::ROOT, Site::INDEX)).scan(/^## (.+)$/).flatten
    assert_equal headings, SITE.navigation.map { |section| section[:text] }
    assert_includes SITE.navigation.first[:items], {text: "Installation", link: "/installation"}
  end

  def test_no_comment_and_no_link_of_the_checkout_is_left
    SITE.pages.each_key do |path|
      text = SITE.page(path).gsub(Site::FENCE, "")
      refute_match(/^<!--|<picture/, text, path)
      links = text.gsub(/(`+).+?\1/m, "").scan(/\]\(([^)\s]+)/).flatten
      assert_empty links.grep_v(%r{\A(?:/|#|https://|mailto:)}), path
    end
  end

  def test_examples_are_as_they_stand
    SITE.pages.each_key do |path|
      in_comments = /^<!--(?:(?!-->).)*?^```.*?-->/m
      text = File.read(File.join(Site::ROOT, path))
      assert_equal text.scan(Site::FENCE), SITE.page(path).scan(Site::FENCE), path unless text.match?(in_comments)
    end
  end

  def test_no_lock_file_names_a_host
    lock = JSON.parse(File.read(File.join(Site::ROOT, "tool/site/package-lock.json"))).fetch("packages")
    assert_empty(lock.select { |_, package| package.key?("resolved") })
    assert(lock.except("").values.all? { |package| package["integrity"].to_s.start_with?("sha512-") })
  end

  def test_links_that_lead_nowhere_and_pages_that_no_link_leads_to_are_found
    Dir.mktmpdir do |folder|
      {"index.html" => '<h1 id="top">A</h1><a href="/base/a.html#b">b</a> <a href="https://example.com/x">x</a> <img src="no.png">',
       "a.html" => '<h2 id="b">B</h2><a href="index.html#bottom">lost</a><a href="#b">here</a><a href="sub/">sub</a>',
       "sub/index.html" => '<a href="../a.html">up</a>', "alone.html" => "", "404.html" => ""}.each do |name, html|
        FileUtils.mkdir_p(File.dirname(File.join(folder, name)))
        File.write(File.join(folder, name), html)
      end
      assert_equal ["a.html: index.html#bottom", "alone.html: no link leads there", "index.html: no.png"], SiteLinks.new(folder, "/base/").faults.sort
    end
  end
end
