# frozen_string_literal: true

require "digest"
require "json"
require_relative "built_gems"

# What each built gem consists of, as CycloneDX has it: itself, files of others that are in it, gems that it needs. Without a time or
# a number of its own, so that it is the same for the same gem.
class BillOfMaterials
  # Files of others: gem => file => what it is. The licence's text lies beside it, as NAME.LICENSE.
  BUNDLED = {
    "guildhall-web" => {
      "lib/guildhall/web/assets/idiomorph.js" =>
        {name: "idiomorph", version: "0.8.0", purl: "pkg:npm/idiomorph@0.8.0", license: "0BSD"}
    }
  }.freeze
  SUMS = "SHA256SUMS"

  # Beside each gem its bill, and for all of them the checksums: `sha256sum --check SHA256SUMS`.
  # @param paths [Array<String>] of gems, in one folder
  def self.write(paths)
    bills = paths.map do |path|
      bill = "#{path.delete_suffix(".gem")}.cdx.json"
      File.write(bill, "#{JSON.pretty_generate(new(path).to_h)}\n")
      bill
    end
    lines = [*paths, *bills].map { |path| "#{Digest::SHA256.file(path)}  #{File.basename(path)}\n" }
    File.write(File.join(File.dirname(paths.first), SUMS), lines.join)
  end

  def initialize(path)
    @path = path
    @specification = Gem::Package.new(path).spec
  end

  # @return [Hash] CycloneDX 1.6
  def to_h
    gems = @specification.runtime_dependencies.map { |dependency| needed(dependency) }
    parts = BUNDLED.fetch(@specification.name, {}).map { |file, part| bundled(file, part) }
    references = [*parts, *gems].map { |part| part[:"bom-ref"] }
    {bomFormat: "CycloneDX", specVersion: "1.6", version: 1, metadata: {component: own}, components: [*parts, *gems],
     dependencies: [{ref: own[:"bom-ref"], dependsOn: references}, *references.map { |reference| {ref: reference} }]}
  end

  private

  def own
    platform = "?platform=#{@specification.platform}" unless @specification.platform == "ruby"
    component("pkg:gem/#{@specification.name}@#{@specification.version}#{platform}", @specification.name, @specification.licenses,
      version: @specification.version.to_s, description: @specification.summary, hashes: hashes(@path),
      externalReferences: [{type: "vcs", url: @specification.metadata.fetch("source_code_uri")}])
  end

  def bundled(file, part)
    component(part.fetch(:purl), part.fetch(:name), [part.fetch(:license)], version: part.fetch(:version),
      hashes: hashes(File.join(BuiltGems::ROOT, file)))
  end

  # Which version, whoever installs it decides.
  def needed(dependency)
    licenses = (BuiltGems::NAMES.include?(dependency.name) ? BuiltGems.specification(dependency.name) : dependency.to_spec).licenses
    component("pkg:gem/#{dependency.name}", dependency.name, licenses, description: "versions #{dependency.requirement}")
  end

  def component(purl, name, licenses, **more)
    {type: "library", "bom-ref": purl, name:, **more.except(:externalReferences), licenses: licenses.map { |id| {license: {id:}} }, purl:,
     **more.slice(:externalReferences)}
  end

  def hashes(path) = [{alg: "SHA-256", content: Digest::SHA256.file(path).hexdigest}]
end
