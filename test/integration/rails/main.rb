# frozen_string_literal: true

# What docs/rails_and_ractors.md says about Rails main, in an application that is made shareable. Usage: main.rb FOLDER, an empty one; with the
# gems of RailsMainTest.
require "logger"
require "rails"
require "active_record/railtie"
require "action_controller/railtie"
require "action_view/railtie"
require "active_job/railtie"
require "guildhall-kafka"
require "guildhall/kafka/testing"

FOLDER = ARGV.fetch(0)
ENV["DATABASE_URL"] = "sqlite3::memory:"
FileUtils.mkdir_p(%w[config app/views/orders].map { |path| File.join(FOLDER, path) })
File.write(File.join(FOLDER, "config/routes.rb"), 'Rails.application.routes.draw { get("orders", to: "orders#index") }')
File.write(File.join(FOLDER, "app/views/orders/_line.html.erb"), "<p><%= order[:number] %></p>")
File.write(File.join(FOLDER, "app/views/orders/_strict.html.erb"), "<%# locals: (order:) -%>\n<p><%= order[:number] %></p>")

# Settings of Rails' own test of `ractorize!`.
class Shop < Rails::Application
  config.root = FOLDER
  config.eager_load = true
  config.enable_reloading = false
  config.secret_key_base = "x" * 64
  config.public_file_server.enabled = false
  config.cache_store = :null_store
  ActiveSupport::Ractors.unshareable_proc_action = :warn
  ActiveSupport.deprecator.silenced = true
  config.logger = ActiveSupport::Ractors::Logger.new(IO::NULL)
end

class Form
  include ActiveModel::Model
  include ActiveModel::Attributes

  attribute :number, :integer
end

class OrdersController < ActionController::Base
  def index = render(plain: "orders")
end

# What loads Active Record before the application is made shareable, as any model does.
class Order < ActiveRecord::Base; end

class OrdersConsumer < Guildhall::Kafka::Consumer
  SEEN = Thread::Queue.new
  def consume = messages.each { |message| SEEN << [message.payload["number"], Rails.application.executor.active?] }
end

# What a template without a declaration of its locals needs of its view; with one, it is compiled for the view class of Rails.
class PlainView
  def compiled_method_container = self.class

  def _run(method, _template, locals, buffer, **, &)
    @output_buffer = buffer
    public_send(method, locals, buffer, &)
  end
end

module Rendering
  DETAILS = Ractor.make_shareable({locale: [:en], formats: [:html], variants: [], handlers: [:erb]})

  def self.call(number)
    template = VIEWS.find_all("line", "orders", true, DETAILS, nil, %i[order]).first
    [Ractor.main?, template.render(PlainView.new, {order: {number:}})]
  end
end

module Support
  def self.call(word) = [Ractor.main?, word.singularize.camelize, ERB::Util.html_escape("<"), {word:}.to_json]
end

def equal(expected, actual) = expected == actual || abort("line #{caller_locations(1, 1).first.lineno}: expected #{expected.inspect}, got #{actual.inspect}")

# Whether only the main Ractor may do it.
def refused?(block)
  Ractor.new(&block).value
  false
rescue Ractor::RemoteError
  true
end

def check_pool
  equal([[false, "Order", "&lt;", '{"word":"orders"}']], Guildhall.pool.map(["orders"] * 4, Support, parallel: true).uniq)
  template = Guildhall::Template.new("<p><%= number %></p>", locals: [:number])
  equal(["<p>1</p>", "<p>2</p>"], Guildhall.pool.render(template, [{number: 1}, {number: 2}]))
end

Warning[:experimental] = false
Shop.initialize!
Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": "localhost:9092"} }
Guildhall::Kafka.routes do
  topic "orders" do
    consumer OrdersConsumer
    deserializer Guildhall::JSON.lazy
  end
end
check_pool
Rails.application.ractorize!
equal(true, Ractor.shareable?(Rails.application))
check_pool
VIEWS = Ractor.make_shareable(ActionView::PathRegistry.all_file_system_resolvers.find { |resolver| resolver.path == File.join(FOLDER, "app/views") })
equal([[false, "<p>1</p>"], [false, "<p>2</p>"]], Guildhall.pool.map([1, 2], Rendering, parallel: true))
orders = Guildhall::Kafka::Testing.topic("orders").deliver({"number" => 7})
equal([1, [], [7, true]], [orders.done, orders.errors, OrdersConsumer::SEEN.pop(timeout: 10)])

# What the page says of worker Ractors.
WORKS = {
  "dates" => Ractor.shareable_proc { [Time.current, 5.minutes.from_now] },
  "verifying messages" => Ractor.shareable_proc { ActiveSupport::MessageVerifier.new("key").generate("a") },
  "parameters" => Ractor.shareable_proc { ActionController::Parameters.new(a: 1).permit(:a).to_h },
  "notifications" => Ractor.shareable_proc { ActiveSupport::Notifications.instrument("x") { 1 } },
  "the logger" => Ractor.shareable_proc { Rails.logger.info("x") },
  "URLs" => Ractor.shareable_proc { Rails.application.routes.url_helpers.orders_path }
}.freeze
ONLY_MAIN = {
  "Active Model" => Ractor.shareable_proc { Form.new(number: 1).valid? },
  "formatting numbers" => Ractor.shareable_proc { ActiveSupport::NumberHelper.number_to_currency(5) },
  "translations" => Ractor.shareable_proc { I18n.t("date.formats.default") },
  "time zones" => Ractor.shareable_proc { Time.at(0).in_time_zone("Berlin") },
  "Active Record" => Ractor.shareable_proc { ActiveRecord::Base.connection_pool },
  "rendering by a controller" => Ractor.shareable_proc { OrdersController.render(partial: "orders/strict", locals: {order: {number: 1}}) },
  "a request" => Ractor.shareable_proc do
    Rails.application.call({"REQUEST_METHOD" => "GET", "PATH_INFO" => "/orders", "QUERY_STRING" => "", "SCRIPT_NAME" => "", "SERVER_NAME" => "localhost",
                            "SERVER_PORT" => "80", "HTTP_HOST" => "localhost", "rack.url_scheme" => "http", "rack.input" => StringIO.new})
  end
}.freeze
$stderr.reopen(File::NULL)
changed = ONLY_MAIN.reject { |_, block| refused?(block) }.keys + WORKS.select { |_, block| refused?(block) }.keys
$stdout.puts(changed.empty? ? "ok Rails #{Rails.version}, Ruby #{RUBY_VERSION}" : "change docs/rails_and_ractors.md: #{changed.join(", ")}")
exit(changed.empty?)
