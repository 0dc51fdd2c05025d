# frozen_string_literal: true

require "prism"

# Which other files a gem's files name relative to themselves: by `require_relative`, `__dir__`, `source_root` and the templates below it,
# and by `#include "…"` in C. What is not in the gem's own list is missing once it is installed.
class FileReferences
  GENERATED = ["powers_of_five.h"].freeze # by extconf.rb
  TEMPLATES = %i[template copy_file directory].freeze # of generators: below their source_root

  # @param root [String] the checkout
  # @param files [Array<String>] the gem's, below it
  def initialize(root, files)
    @root = root
    @files = files.to_h { |file| [file, true] }
    @folders = files.flat_map { |file| ancestors(file) }.uniq.to_h { |folder| [folder, true] }
  end

  # @return [Array<String>] "FILE: NAME"
  def missing
    @files.each_key.flat_map do |file|
      references(file).reject { |name, folder, ending| there?(File.join(folder, name), ending) }.map { |name, *| "#{file}: #{name}" }
    end
  end

  private

  def ancestors(file)
    folder = File.dirname(file)
    folder == "." ? ["."] : [folder, *ancestors(folder)]
  end

  # @return [Array<Array(String, String, String)>] names with `*` for what is not known, each with its folder and what it may end in
  def references(file)
    path = File.join(@root, file)
    case File.extname(file)
    when ".rb", "" then file.start_with?("LICENSE") ? [] : ruby(path, File.dirname(file))
    when ".c", ".h" then includes(path, file)
    else []
    end
  end

  def includes(path, file)
    extension = file[%r{\Aext/[^/]+}]
    folders = [File.dirname(file), extension, File.join(extension, "include")]
    (File.read(path).scan(/^#include "(.+)"/).flatten - GENERATED).map do |name|
      [name, folders.find { |folder| @files.key?(File.join(folder, name)) } || extension, ""]
    end
  end

  def ruby(path, folder)
    found = []
    templates = folder
    walk(Prism.parse_file(path).value) do |node|
      case node
      when Prism::CallNode
        names = (node.arguments&.arguments || []).filter_map { |argument| text(argument) }
        if node.name == :require_relative then found << [names.fetch(0), folder, ".rb"]
        elsif node.name == :source_root then templates = File.join(folder, "templates")
        elsif TEMPLATES.include?(node.name) && node.receiver.nil? && names.any? then found << [names[0], templates, ""]
        elsif beside?(node) then found << [names.join("/"), folder, ".rb"]
        end
      when Prism::InterpolatedStringNode
        found << [text(node).delete_prefix("*/"), folder, ".rb"] if directory?(node.parts.first) && node.parts.size > 1
      end
    end
    found
  end

  # Of `File.expand_path("…", __dir__)` and `File.join(__dir__, "…")`.
  def beside?(node)
    %i[expand_path join].include?(node.name) && node.receiver&.slice == "File" &&
      node.arguments.arguments.any? { |argument| argument.slice == "__dir__" }
  end

  def directory?(part) = part.is_a?(Prism::EmbeddedStatementsNode) && part.slice.include?("__dir__")

  def text(node)
    case node
    when Prism::StringNode then node.unescaped
    when Prism::InterpolatedStringNode then node.parts.map { |part| part.is_a?(Prism::StringNode) ? part.unescaped : "*" }.join
    end
  end

  def walk(node, &)
    yield(node)
    node.compact_child_nodes.each { |child| walk(child, &) }
  end

  def there?(path, ending)
    path = File.expand_path(path, "/").delete_prefix("/")
    return true if path.empty? || @files.key?(path) || @files.key?("#{path}#{ending}") || @folders.key?(path)

    path.include?("*") && @files.any? { |file, _| [path, "#{path}#{ending}"].any? { |pattern| File.fnmatch?(pattern, file, File::FNM_PATHNAME) } }
  end
end
