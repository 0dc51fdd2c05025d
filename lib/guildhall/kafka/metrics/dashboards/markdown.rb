# frozen_string_literal: true

module Guildhall
  module Kafka
    module Metrics
      module Dashboards
        # The table of the guide.
        module Markdown
          def self.to_s
            head = ["| metric | type | unit | tags | what it is |", "|---|---|---|---|---|"]
            rows = Kafka::Metrics::LIST.map do |metric|
              tags = metric.tags.map { |tag| "`#{tag}`" }.join(", ")
              "| `#{metric.full_name}` | #{metric.type} | #{metric.unit} | #{tags} | #{metric.description} |"
            end
            [*head, *rows].join("\n")
          end
        end
      end
    end
  end
end
