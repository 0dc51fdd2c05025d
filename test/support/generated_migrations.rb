# frozen_string_literal: true

require "active_record"
require "erb"

# Tables as the generators' migrations make them, without Rails.
module GeneratedMigrations
  FOLDER = File.expand_path("../../lib/generators/guildhall", __dir__)

  # @param name [String] "outbox" or "jobs"
  # @return [String] the template
  def self.text(name) = File.read(File.join(FOLDER, name, "templates/create_guildhall_#{name}.rb.tt"))

  def self.run(*names)
    ActiveRecord::Migration.verbose = false
    names.each do |name|
      Object.class_eval(ERB.new(text(name)).result_with_hash(migration_version: "[#{ActiveRecord::Migration.current_version}]"))
      Object.const_get("CreateGuildhall#{name.capitalize}").migrate(:up)
    end
  end
end
