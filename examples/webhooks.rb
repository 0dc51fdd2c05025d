# frozen_string_literal: true

# Checks webhooks against a JSON Schema; an invalid one does not affect the others. Run it with:
# ruby examples/webhooks.rb (in a checkout: bin/rake example[webhooks])
require "guildhall"

SCHEMA = Guildhall::Schema.new(<<~JSON)
  {"type": "object", "required": ["action", "repository"],
   "properties": {"action": {"enum": ["opened", "closed"]},
                  "repository": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}}}
JSON
WEBHOOKS = [
  '{"action": "opened", "repository": {"id": 1}}', '{"action": "exploded", "repository": {"id": 2}}', '{"action": "closed"}', "{"
].freeze

Guildhall.pool.each_result(WEBHOOKS, Guildhall::JSON.lazy >> SCHEMA.validator) do |webhook, index|
  case webhook
  when Guildhall::Failure then puts "#{index}: #{webhook.message}"
  else puts "#{index}: #{webhook["action"]} in repository #{webhook.dig("repository", "id")}"
  end
end
