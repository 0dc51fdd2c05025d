# frozen_string_literal: true

# Five templates as applications have them, and what they are rendered with: the same each time, shareable.
class Pages
  FOLDER = File.join(__dir__, "templates")
  NAMES = %w[product.html dashboard.html mail.html report.html response.xml].freeze
  WORDS = %w[quiet river & paper lamp harbour <wool> ladder meadow o'clock copper garden window bread signal].freeze

  # @return [String] for ERB, which escapes `<%=h name %>` only
  def text(name) = File.read(File.join(FOLDER, "#{name}.erb"), encoding: "UTF-8")

  # @return [String] for what escapes by itself
  def escaping(name) = text(name).gsub("<%= '", "<%== '").gsub("<%=h ", "<%= ")

  # @return [Hash{Symbol=>Object}] shareable
  def locals(name)
    Ractor.make_shareable(send(name[/\A\w+/]))
  end

  private

  def words(count, from) = Array.new(count) { |index| WORDS[((from * 7) + (index * 5)) % WORDS.size] }.join(" ")

  def product
    {shop: "Harbour & Sons", categories: Array.new(12) { |id| {id:, name: words(2, id)} },
     product: {name: words(4, 1), summary: words(16, 2), price: 129.9, stock: 3, category: 4, paragraphs: Array.new(6) { |n| words(60, n) },
               facts: Array.new(30) { |n| [words(2, n), words(5, n + 3)] },
               variants: Array.new(40) { |n| {sku: "S-#{n}", color: words(1, n), size: (n + 30).to_s, stock: n % 5} },
               reviews: Array.new(55) { |n| {title: words(4, n), stars: n % 6, text: words(36, n), author: words(2, n + 1), helpful: n * 3} },
               related: Array.new(12) { |n| {id: n, name: words(3, n), price: n * 3.5} }}}
  end

  def dashboard
    {team: "R & D", tiles: Array.new(12) { |n| {name: words(2, n), value: n * 1234, change: n - 5.5, points: Array.new(20) { |x| (x * n) % 20 }} },
     jobs: Array.new(110) { |n| {id: n, name: words(4, n), state: %w[running queued failed][n % 3], owner: words(2, n), seconds: n * 1.37} },
     alerts: Array.new(60) { |n| {level: n % 4, at: "2026-01-#{n % 28}", text: words(12, n)} }}
  end

  def mail
    {user: {name: "Ada <Lovelace>", address: ["12 Harbour Street", "EC1 London & more"]}, terms: Array.new(14) { |n| words(40, n) },
     order: {number: "A-17", date: "2026-01-02", lines: Array.new(20) { |n| {count: n + 1, name: words(4, n), note: words(8, n), price: n + 0.5} }}}
  end

  def report
    {title: "Sales & returns", regions: Array.new(5) do |region|
      {name: words(2, region), rows: Array.new(96) do |n|
        {number: (region * 1000) + n, customer: words(3, n), country: words(1, n), net: (n * 1371) % 99_999, rate: n.even? ? 7 : 19, paid: n % 3 != 0}
      end}
    end}
  end

  def response
    {page: 1, pages: 12, orders: Array.new(90) do |id|
      {id:, state: %w[open paid][id % 2], customer: {id: id * 3, name: words(2, id), email: "c#{id}@example.org"}, created: "2026-01-02T03:04:05Z",
       note: (id % 4).zero? ? words(14, id) : nil,
       lines: Array.new(4) { |n| {sku: "S-#{id}-#{n}", quantity: n + 1, price: n * 2.25, name: words(3, id + n)} }}
    end}
  end
end
