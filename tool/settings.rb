# frozen_string_literal: true

# Writes the tables of docs/kafka_settings.md, which are made of the declared settings. Run it with: bin/rake settings
require "guildhall/kafka"

# docs/kafka_settings.md as it should be.
module SettingsGuide
  FILE = File.expand_path("../docs/kafka_settings.md", __dir__)
  # Heading => the table below it.
  TABLES = {"The application" => Guildhall::Kafka::Config.settings, "A topic" => Guildhall::Kafka::Routing::Topic.settings,
            "Filters" => Guildhall::Kafka::Filtering::BUILT_IN,
            "A consumer group" => Guildhall::Kafka::Routing::Multiplexing.settings}.freeze

  # @return [String] the guide with the tables of today
  def self.text
    File.read(FILE).split(/^(?=## )/).map do |section|
      table = TABLES[section[/\A## (.*)/, 1]]
      table ? section.sub(/^\|.*\|\n(?:\|.*\n)*/) { "#{table.to_markdown}\n" } : section
    end.join
  end
end

File.write(SettingsGuide::FILE, SettingsGuide.text) if $PROGRAM_NAME == __FILE__
