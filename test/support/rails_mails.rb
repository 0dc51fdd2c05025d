# frozen_string_literal: true

# Run inside a generated Rails application: renders a thousand mails on workers, and delivers them. Prints what is wrong.
require "fileutils"

FileUtils.mkdir_p(%w[app/templates/orders app/helpers app/mailers])
File.write("app/templates/orders/receipt.html.erb", <<~'ERB')
  <%# locals: (order:) -%>
  <h1>Receipt <%= order[:id] %></h1>
  <% order[:lines].each do |line| -%>
  <%= render "orders/line", line: line %>
  <% end -%>
  <p>Total: <%= euros(order[:lines].sum { |line| line[:price] }) %>, <%= raw "<b>thank you</b>" %> <%= order[:name] %></p>
ERB
File.write("app/templates/orders/_line.html.erb", "<%# locals: (line:) -%>\n<li><%= line[:name] %>: <%= euros(line[:price]) %></li>")
File.write("app/templates/orders/receipt.text.erb", "<%# locals: (order:) -%>\nReceipt <%= order[:id] %> for <%= order[:name] %>\n")
File.write("app/helpers/prices_helper.rb", <<~'RUBY')
  module PricesHelper
    def euros(cents) = format("%.2f €", cents / 100.0)
  end
RUBY
File.write("app/mailers/receipt_mailer.rb", <<~'RUBY')
  class ReceiptMailer < ActionMailer::Base
    default from: "shop@example.org"

    def receipt(order, html, text)
      mail(to: order[:email], subject: "Receipt #{order[:id]}") do |format|
        format.text { render plain: text }
        format.html { render html: html.html_safe }
      end
    end
  end
RUBY
require File.expand_path("config/environment", Dir.pwd)
require "guildhall"

templates = Guildhall::Templates.new(Rails.root.join("app/templates"), helpers: [PricesHelper], trim_mode: "-")
orders = Array.new(1000) do |id|
  {id:, name: "Ada <#{id}> & Co", email: "c#{id}@example.org", lines: Array.new(5) { |n| {name: "a & b #{n}", price: (id * n) + 50} }}
end
locals = orders.map { |order| {order:} }
ActionMailer::Base.delivery_method = :test
lookup = ActionView::LookupContext.new([Rails.root.join("app/templates").to_s])
view = ActionView::Base.with_empty_template_cache.new(lookup, {}, nil)
view.extend(PricesHelper)
in_rails = ->(order) { view.render(template: "orders/receipt", locals: {order:}, formats: [:html]) }
# Before the first Ractor: on Ruby 4.0.5 a class that has class variables must not be given more of them later (see the guide).
ReceiptMailer.receipt(orders.first, "", "").deliver_now
ActionMailer::Base.deliveries.clear
in_rails.call(orders.first)

pool = Guildhall.pool
html = pool.render(templates["orders/receipt"], locals, parallel: true)
text = pool.render(templates["orders/receipt.text"], locals)
orders.zip(html, text) { |order, page, plain| ReceiptMailer.receipt(order, page, plain).deliver_now }
sent = ActionMailer::Base.deliveries
puts "#{sent.size} mails" unless sent.size == 1000
puts "no worker rendered" unless pool.stats[:by_workers].positive?
# As Action View writes the same files.
[0, 7, 999].each do |index|
  rails = in_rails.call(orders[index])
  mail = sent[index].html_part.body.decoded.force_encoding("UTF-8").gsub("\r\n", "\n")
  puts "differs:\n#{rails}\nfrom\n#{mail}" unless mail.strip == rails.strip
end
puts "text: #{sent[3].text_part.body}" unless sent[3].text_part.body.decoded.include?("Receipt 3 for Ada <3> & Co")
safe = Guildhall::Template.new("<%= a %>|<%= b %>", locals: %i[a b]).render(a: "<b>".html_safe, b: "<i>")
puts "SafeBuffer: #{safe}" unless safe == "<b>|&lt;i&gt;"
