# frozen_string_literal: true

require "test_helper"

# Documents in a Rails application: models, parameters, caches, validations.
class ActiveRecordTest < GuildhallTest
  PROGRAM = File.expand_path("../support/rails_program.rb", __dir__)

  def test_rails_does_the_same_with_documents
    assert_equal "", assert_ruby("load #{PROGRAM.dump}", options: ["-W0"])
  end

  ANCESTORS = <<~'RUBY'
    patched = [ActiveRecord::StatementCache.singleton_class, ActiveRecord::PredicateBuilder, ActiveRecord::Relation, ActiveRecord::Sanitization::ClassMethods]
    p(patched.map { |type| type.ancestors.count { |one| one.name.to_s.start_with?("Guildhall") } })
  RUBY

  # A codec that an application adds has no business there.
  def test_active_record_is_changed_only_where_it_is_asked_for
    {"active_support\nguildhall\nactive_record" => [0, 0, 0, 0], "active_record\nguildhall/json\nguildhall/msgpack\nguildhall/avro" => [0, 0, 0, 0],
     "guildhall/json\nguildhall/active_record" => [1, 1, 1, 1], "active_record\nguildhall/active_record" => [1, 1, 1, 1]}.each do |features, expected|
      requires = features.lines(chomp: true).map { |feature| "require #{feature.dump}\n" }.join
      assert_equal "#{expected}\n", assert_ruby("#{requires}ActiveRecord::Base\n#{ANCESTORS}", options: ["-W0"]), features
    end
  end

  # Nor is its base class loaded before the application loads it: what initializers say about it would come too late.
  def test_the_base_class_is_not_loaded
    code = 'require "guildhall/active_record"; p ActiveRecord.autoload?(:Base).nil?; ActiveRecord::Base; p ActiveRecord.autoload?(:Base).nil?'
    assert_equal "false\ntrue\n", assert_ruby(code, options: ["-W0"])
  end
end
