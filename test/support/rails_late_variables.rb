# frozen_string_literal: true

# Run inside a generated Rails application that loads nothing eagerly, after its first worker was made: loads whatever the frameworks
# autoload, and prints the modules that had to be given a second class variable then: Ruby 4.0.0 to 4.0.5 ends the process when that is
# read. Also uses what has been known to end it. The last line is what the application's log says.
require "fileutils"
FileUtils.mkdir_p("app/models")
File.write("app/models/late.rb", "class Late\n  cattr_accessor :one, :two\nend\n")
require File.expand_path("config/environment", Dir.pwd)
require "active_support/test_case" # which tests load before they run, and nothing else does
require "guildhall"
require "logger"
require "stringio"

Rails.logger = Logger.new(log = StringIO.new)
Guildhall.pool.map(%w[1 2], Guildhall::JSON, parallel: true)

FRAMEWORKS = %w[ActiveSupport ActiveModel ActiveRecord ActiveJob AbstractController ActionDispatch ActionController ActionView ActionMailer
                ActionCable ActiveStorage ActionMailbox ActionText Rails Mail].freeze

def variables = ObjectSpace.each_object(Module).reject(&:singleton_class?).to_h { |type| [type, type.class_variables(false)] }

def walk(type, seen)
  return if seen[type]

  seen[type] = true
  type.constants(false).each do |name|
    value = begin
      type.const_get(name, false)
    rescue LoadError, StandardError
      next # needs a gem that is not here
    end
    walk(value, seen) if Module === value && value.name.to_s.start_with?(*FRAMEWORKS)
  end
end

ActiveRecord::Base if defined?(ActiveRecord) # rubocop:disable Lint/Void -- loads it
controller = Class.new(ActionController::Base)
rendered = [controller.render(inline: "<%= number_to_currency(3) %>"), controller.helpers.number_to_currency(3)]
puts "renders #{rendered}" unless rendered == ["$3.00", "$3.00"]
mailer = Class.new(ActionMailer::Base) { def hello = mail(to: "a@example.org", from: "b@example.org", subject: "c", body: "d") }
mailer.define_singleton_method(:name) { "HelloMailer" }
puts "mails otherwise" unless mailer.hello.message.subject == "c"

before = variables
FRAMEWORKS.each { |name| walk(Object.const_get(name), {}) if Object.const_defined?(name) }
variables.each do |type, now|
  next if now.size < 2 || (now - before.fetch(type, [])).empty?

  puts "#{type}: #{now.join(", ")}"
end
puts log.string.lines.grep(/guildhall: /).map { |line| line[/guildhall: .*/] }
