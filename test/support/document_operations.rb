# frozen_string_literal: true

require "json"
require "uri"

# What code does with a Hash or an Array that JSON.parse gave: each is done with a Document too. `x` is the one or the
# other, `same` always the plain one.
# rubocop:disable all -- each as somebody may have written it
module DocumentOperations
  def self.keywords(**given) = given

  # Every method of Hash and Array that reads, with the arguments that matter, and what Enumerable brings.
  READING = {
    size: ->(x) { x.size }, length: ->(x) { x.length }, empty: ->(x) { x.empty? }, any: ->(x) { x.any? }, none: ->(x) { x.none? },
    all: ->(x) { x.all? }, one: ->(x) { x.one? }, any_pair: ->(x) { x.any? { |_, v| v } }, all_pair: ->(x) { x.all? { |k, _| k } },
    any_pattern: ->(x) { x.any?(String) }, all_pattern: ->(x) { x.all?(Integer) }, count: ->(x) { x.count },
    count_block: ->(x) { x.count { |_, v| v } }, count_value: ->(x) { x.count(nil) }, to_a: ->(x) { x.to_a }, entries: ->(x) { x.entries },
    each_splat: ->(x) { [].tap { |r| x.each { |*v| r << v } } }, each_one: ->(x) { [].tap { |r| x.each { |v| r << v } } },
    each_two: ->(x) { [].tap { |r| x.each { |k, v| r << [k, v] } } }, each_returns: ->(x) { x.each { nil }.equal?(x) },
    each_next: ->(x) { x.each.next }, each_size: ->(x) { x.each.size }, each_lambda: ->(x) { x.each(&->(_, _) {}).equal?(x) },
    each_with_index: ->(x) { x.each_with_index.to_a }, each_with_index_destructured: ->(x) { [].tap { |r| x.each_with_index { |(a, b), i| r << a << b << i } } },
    map: ->(x) { x.map { |v| v } }, map_two: ->(x) { x.map { |k, v| [k, v] } }, map_lambda: ->(x) { x.map(&->(k, _) { k }) },
    map_lambda_one: ->(x) { x.map(&->(k) { k }) }, map_size: ->(x) { x.map(&:size) }, map_first: ->(x) { x.map(&:first) },
    map_with_index: ->(x) { x.map.with_index { |v, i| [v, i] } }, flat_map: ->(x) { x.flat_map { |v| v } },
    first: ->(x) { x.first }, first_two: ->(x) { x.first(2) }, first_negative: ->(x) { x.first(-1) }, last: ->(x) { x.last },
    last_two: ->(x) { x.last(2) }, take: ->(x) { x.take(2) }, drop: ->(x) { x.drop(1) }, take_while: ->(x) { x.take_while { |k, _| k } },
    drop_while: ->(x) { x.drop_while { |k, _| k } }, min_by: ->(x) { x.min_by { |v| [v].flatten.size } }, sort_by: ->(x) { x.sort_by { |v| [v].flatten.join } },
    sort: ->(x) { x.sort }, min: ->(x) { x.min }, max: ->(x) { x.max }, minmax: ->(x) { x.minmax }, max_two: ->(x) { x.max(2) },
    group_by: ->(x) { x.group_by { |v| v } }, group_by_second: ->(x) { x.group_by { |_, v| v } }, partition: ->(x) { x.partition { |k, _| k } },
    each_slice: ->(x) { x.each_slice(2).to_a }, each_cons: ->(x) { x.each_cons(2).to_a }, zip: ->(x) { x.zip([1, 2]) }, zip_self: ->(x) { x.zip(x) },
    inject: ->(x) { x.inject { |a, _| a } }, inject_pairs: ->(x) { x.inject(0) { |s, (a, b)| s + a.to_s.size + b.to_s.size } },
    sum: ->(x) { x.sum { 1 } }, sum_plain: ->(x) { x.sum }, sum_arrays: ->(x) { x.sum([]) }, sum_pairs: ->(x) { x.sum { |_, v| v.is_a?(Numeric) ? v : 0 } },
    tally: ->(x) { x.tally }, uniq: ->(x) { x.uniq }, uniq_block: ->(x) { x.uniq { |_, v| v } }, to_set: ->(x) { x.to_set }, lazy: ->(x) { x.lazy.map { |v| v }.first(2) },
    each_entry: ->(x) { x.each_entry.to_a }, include_nil: ->(x) { x.include?(nil) }, include_text: ->(x) { x.include?("a") }, member: ->(x) { x.member?("id") },
    include_first: ->(x, same) { x.include?(same.first) }, reverse_each: ->(x) { x.reverse_each.to_a }, find: ->(x) { x.find { |_, v| v } },
    find_index: ->(x) { x.find_index { true } }, select: ->(x) { x.select { |_, v| v } }, select_one: ->(x) { x.select { |k| k } },
    select_lambda: ->(x) { x.select(&->(_, _) { true }) }, select_enum: ->(x) { x.select.with_index.to_a }, filter: ->(x) { x.filter { |k, _| k } },
    reject: ->(x) { x.reject { |_, v| v.nil? } }, filter_map: ->(x) { x.filter_map { |k, v| k if v } }, find_all: ->(x) { x.find_all { |_, v| v } },
    each_with_object: ->(x) { x.each_with_object([]) { |v, m| m << v } }, each_with_object_pairs: ->(x) { x.each_with_object([]) { |(k, v), m| m << k << v } },
    cycle: ->(x) { x.cycle(2).to_a }, chunk_while: ->(x) { x.chunk_while { true }.to_a }, slice_when: ->(x) { x.slice_when { true }.to_a },
    grep: ->(x) { x.grep(String) }, grep_v: ->(x) { x.grep_v(String) }, compact: ->(x) { x.compact }, to_h: ->(x) { x.to_h }, to_h_block: ->(x) { x.to_h { |k, _| [k, 1] } },
    zip_block: ->(x) { [].tap { |r| x.zip([1, 2]) { |v| r << v } } }, zip_alone: ->(x) { [].tap { |r| x.zip { |v| r << v } } }, zip_two: ->(x) { [].tap { |r| x.zip(x) { |a, b| r << [a, b] } } },
    reverse_each_argument: ->(x) { x.reverse_each(0) { nil }.equal?(x) }, fetch_three: ->(x) { x.fetch("a", 1, 2) }, fetch_zero_three: ->(x) { x.fetch(0, 1, 2) }, transform_keys_nil: ->(x) { x.transform_keys(nil) },
    to_h_one: ->(x) { x.to_h { |k| [k, 1] } }, to_h_splat: ->(x) { x.to_h { |*k| [k, 1] } }, to_h_lambda: ->(x) { x.to_h(&->(k, v) { [v, k] }) },
    key: ->(x) { x["a"] }, symbol: ->(x) { x[:a] }, zero: ->(x) { x[0] }, minus_one: ->(x) { x[-1] }, range: ->(x) { x[1..] }, start_length: ->(x) { x[0, 2] },
    sequence: ->(x) { x[(0..).step(2)] }, beyond: ->(x) { x[5..9] }, float: ->(x) { x[1.7] }, index_nil: ->(x) { x[nil] }, huge: ->(x) { x[2**70] },
    slice_keys: ->(x) { x.slice("a", "b") }, slice_numbers: ->(x) { x.slice(0, 2) }, fetch_none: ->(x) { x.fetch("nope") }, fetch_default: ->(x) { x.fetch("nope", 1) },
    fetch_block: ->(x) { x.fetch("nope") { |k| [k] } }, fetch_zero: ->(x) { x.fetch(0) }, fetch_beyond: ->(x) { x.fetch(99) { |i| i } }, fetch_minus: ->(x) { x.fetch(-99) },
    fetch_nil: ->(x) { x.fetch(nil) }, fetch_float: ->(x) { x.fetch(0.5) }, values_at: ->(x) { x.values_at("a", "id") }, values_at_numbers: ->(x) { x.values_at(0, -1, 9) },
    values_at_range: ->(x) { x.values_at(0..2) }, fetch_values: ->(x) { x.fetch_values("a") }, fetch_values_block: ->(x) { x.fetch_values("a", "zz") { |k| k } },
    dig: ->(x) { x.dig("a", "b") }, dig_number: ->(x) { x.dig(0, "a") }, dig_negative: ->(x) { x.dig(-1) }, dig_nothing: ->(x) { x.dig }, dig_deep: ->(x) { x.dig("a", 0, "b") },
    dig_array: ->(x) { [x].dig(0, "a") }, dig_hash: ->(x) { {"q" => x}.dig("q", "a", "b") },
    has_key: ->(x) { x.has_key?("a") }, key_symbol: ->(x) { x.key?(:a) }, key_nil: ->(x) { x.key?(nil) }, has_value: ->(x) { x.has_value?(nil) }, value: ->(x) { x.value?("abc") },
    key_of: ->(x) { x.key("abc") }, invert: ->(x) { x.invert }, keys: ->(x) { x.keys }, values: ->(x) { x.values }, each_pair: ->(x) { x.each_pair.to_a },
    each_key: ->(x) { x.each_key.to_a }, each_value: ->(x) { x.each_value.to_a }, transform_values: ->(x) { x.transform_values(&:class).keys }, transform_keys: ->(x) { x.transform_keys(&:upcase) },
    transform_keys_map: ->(x) { x.transform_keys({"a" => "A"}) }, except: ->(x) { x.except("a", "q") }, merge: ->(x) { x.merge({"zz" => 1}) }, merge_self: ->(x) { x.merge(x) },
    merge_block: ->(x) { x.merge({"a" => 1}) { |k, _, n| [k, n] } }, rassoc: ->(x) { x.rassoc(nil) }, assoc: ->(x) { x.assoc("a") }, to_proc: ->(x) { %w[a b].map(&x) },
    superset: ->(x) { x >= {} }, subset: ->(x, same) { x <= same }, default: ->(x) { x.default }, default_proc: ->(x) { x.default_proc }, by_identity: ->(x) { x.compare_by_identity? },
    deconstruct: ->(x) { x.deconstruct }, flatten: ->(x) { x.flatten }, flatten_one: ->(x) { x.flatten(1) }, plus: ->(x) { x + [1] }, minus: ->(x) { x - [nil] },
    minus_all: ->(x, same) { x - same }, and_all: ->(x, same) { x & same }, or_all: ->(x, same) { x | same }, times: ->(x) { x * 2 }, times_text: ->(x) { x * "," },
    reverse: ->(x) { x.reverse }, rotate: ->(x) { x.rotate }, index: ->(x) { x.index(nil) }, index_block: ->(x) { x.index { true } }, rindex: ->(x) { x.rindex(nil) },
    transpose: ->(x) { x.transpose }, combination: ->(x) { x.combination(2).to_a }, product: ->(x) { x.product([1]) }, each_index: ->(x) { x.each_index.to_a },
    bsearch: ->(x) { x.bsearch { true } }, pack: ->(x) { x.pack("U*") }, union: ->(x) { x.union([1]) }, difference: ->(x) { x.difference([nil]) }, intersect: ->(x) { x.intersect?([nil]) },
    intersection: ->(x, same) { x.intersection(same) }, join: ->(x) { x.join(",") }, permutation: ->(x) { x.first(3).permutation.to_a }, sample: ->(x) { x.sample(random: Random.new(7)) },
    to_s: ->(x) { x.to_s }, hash_number: ->(x) { x.hash }, frozen_copy: ->(x) { x.dup == x }, nil: ->(x) { x.nil? }, is_enumerable: ->(x) { x.is_a?(Enumerable) },
    is_hash: ->(x) { x.is_a?(Hash) }, is_array: ->(x) { x.kind_of?(Array) }, responds: ->(x) { %i[to_hash to_ary to_str each_pair push].map { |name| x.respond_to?(name) } }
  }.freeze

  # What is done with Hashes and Arrays by others.
  USING = {
    equal: ->(x, same) { x == same }, equal_back: ->(x, same) { same == x }, different: ->(x, same) { x != same }, equal_other: ->(x, same) { x == [same] },
    eql: ->(x, same) { x.eql?(same) }, in_array: ->(x, same) { [same].include?(x) }, found_in_array: ->(x, same) { [x].include?(same) }, index_in_array: ->(x, same) { [1, same].index(x) },
    arrays: ->(x, same) { [same] == [x] }, hashes: ->(x, same) { {"k" => same} == {"k" => x} }, hashes_back: ->(x, same) { {"k" => x} == {"k" => same} },
    case_of: ->(x, same) { same === x }, compare: ->(x, same) { x <=> same }, compare_back: ->(x, same) { same <=> x }, compare_self: ->(x) { x <=> x },
    key_in_hash: ->(x, same) { {same => 1}[x] }, uniq_after: ->(x, same) { [same, x].uniq.size }, set_has: ->(x, same) { Set[same].include?(x) }, minus: ->(x, same) { [x] - [same] },
    destructure: ->(x) { a, b = x; [a, b] }, destructure_rest: ->(x) { a, *b = x; [a, b] }, splat: ->(x) { [*x] }, block: ->(x) { [x].map { |a, b| [a, b] } },
    block_nested: ->(x) { [[1, x]].map { |a, (b, c)| [a, b, c] } }, block_nested_all: ->(x) { x.map { |a, (b, c)| [a, b, c] } }, array_function: ->(x) { Array(x) }, hash_function: ->(x) { Hash(x) },
    hash_brackets: ->(x) { Hash[x] }, double_splat: ->(x) { {**x} }, keywords: ->(x) { DocumentOperations.keywords(**x) }, merge_into: ->(x) { {"q" => 1}.merge(x) },
    update: ->(x) { {}.update(x) }, array_plus: ->(x) { [1] + x }, concat: ->(x) { [].concat(x) }, flatten_around: ->(x) { [[x], 1].flatten }, join_around: ->(x) { [x, 1].join(",") },
    zip_around: ->(x) { [1, 2].zip(x) }, transpose_around: ->(x) { [x, x].transpose }, product_around: ->(x) { [1].product(x) }, puts: ->(x) { StringIO.new.tap { |io| io.puts(x) }.string },
    interpolate: ->(x) { "#{x}" }, format: ->(x) { format("%s", x) }, format_percent: ->(x) { "%s" % x }, form: ->(x) { URI.encode_www_form(x) }, sort_around: ->(x) { [x, x].sort }, max_around: ->(x) { [x, x].max },
    generate: ->(x) { JSON.generate(x) }, generate_around: ->(x) { JSON.generate({"q" => [x]}) }, pretty: ->(x) { JSON.pretty_generate({"q" => x}) }, ascii: ->(x) { JSON.generate(x, ascii_only: true) },
    to_json: ->(x) { x.to_json }, dump: ->(x) { JSON.dump(x) }, marshal: ->(x) { Marshal.load(Marshal.dump(x)) }, marshal_around: ->(x) { Marshal.load(Marshal.dump([{"k" => x}])) },
    pattern_array: ->(x) { case x; in [Integer => a, *] then a; in [] then 0; else :none; end }, pattern_find: ->(x) { case x; in [*, String => s, *] then s; else :none; end },
    pattern_rest: ->(x) { case x; in [first, *rest] then [first, rest]; else :none; end }, pattern_empty: ->(x) { case x; in {} if x.empty? then 1; in [] then 2; else 3; end }
  }.freeze

  # @param x [Object] Hash, Array, Document
  # @return [Array] how an operation ended: [:gives, plain result] or [:raises, class]
  def self.outcome(operation, x, same)
    [:gives, plain(operation.arity == 2 ? operation.call(x, same) : operation.call(x))]
  rescue StandardError, SystemStackError => error
    [:raises, error.class]
  end

  def self.plain(value)
    case value
    when Guildhall::Document then value.decode
    when Array then value.map { |one| plain(one) }
    when Hash then value.to_h { |key, one| [plain(key), plain(one)] }
    when Set, Enumerator then plain(value.to_a)
    else value
    end
  end
end
# rubocop:enable all
