# frozen_string_literal: true

module Guildhall
  class Web
    class Reports
      # What processes have reported each minute, added up: for a day by group and topic, for an hour by process.
      class History
        SECONDS = 60
        MINUTES = 1_440
        OF_PROCESSES = 60 # minutes
        MAX_PLACES = 500 # groups and topics of a minute, and applications
        MAX_PROCESSES = 1_000
        COUNTS = %w[consumed bytes dropped rejected retries dead errors].freeze
        SUMS = [*COUNTS, "lag"].freeze
        private_constant :SECONDS, :MINUTES, :OF_PROCESSES, :MAX_PLACES, :MAX_PROCESSES, :SUMS

        # A minute of all processes. topics: by application, group and topic the numbers of {SUMS}, and the age; loads: by application
        # how many processes there were, and how many runners were busy; dead: as topics, when the last dead letter came.
        Minute = Struct.new(:topics, :loads, :dead)
        # A minute of one process.
        Usage = Struct.new(:rss, :cores, :gc, :busy)
        private_constant :Minute, :Usage

        def initialize
          @minutes = {}
          @processes = {}
          @places = {}
          @reported = {}
        end

        # @param record [Hash] of kind "minute"
        # @param at [Float] when the broker got it
        def add(record, at)
          number = number_of(record["process"], (at / SECONDS).floor)
          minute = @minutes[number] ||= Minute.new({}, {}, {})
          add_load(minute.loads, record)
          (record["topics"] || []).each { |topic| add_topic(minute, record["app"], topic, at) }
          note(record, number)
          forget if @minutes.size > MINUTES + 60
        end

        # @param minutes [Integer] how many, up to the last whole one
        # @param now [Float]
        # @return [Hash{String=>Array<Numeric, nil>}] a number for each minute, nil where nothing is known; "at": when each began
        def series(minutes, now, app: nil, group: nil, topic: nil)
          last = (now / SECONDS).floor - 1
          numbers = [*(last - minutes + 1)..last]
          rows = numbers.map do |number|
            minute = @minutes[number]
            loads = minute && (app ? minute.loads.values_at(app).compact : minute.loads.values)
            [*loads.transpose.map(&:sum), *totals(minute, app, group, topic)] if loads&.any?
          end
          found = ["processes", "busy", *SUMS, "age"].each_with_index.to_h { |name, index| [name, rows.map { |row| row && row[index] }] }
          {"at" => numbers.map { |number| number * SECONDS }, **found}
        end

        # @return [Hash{String=>Array<Numeric, nil>}] of one process in the last hour
        def process(name, now)
          last = (now / SECONDS).floor - 1
          numbers = [*(last - OF_PROCESSES + 1)..last]
          rows = numbers.map { |number| @processes.dig(name, number) }
          {"at" => numbers.map { |number| number * SECONDS },
           **Usage.members.to_h { |member| [member.name, rows.map { |row| row && row[member] }] }}
        end

        # @return [Integer] whole minutes since the first of the last hour that is known
        def known(now)
          last = (now / SECONDS).floor - 1
          first = @minutes.each_key.select { |number| number > last - 60 }.min
          first ? [last - first + 1, 0].max : 0
        end

        # @return [Hash{String=>Float}] processes that have reported minutes, and when the last one came
        def heard = @processes.transform_values { |minutes| minutes.keys.max * SECONDS.to_f }

        # @param processes [Array<LastReport>] whose reports have what they have counted since their last minute
        # @param app [String, nil] the application; nil: all
        # @return [Hash{Array(String, String)=>Array(Numeric, Float, Float)}] by group and topic the dead letters of the last hour, and when
        #   the first and the last came, about
        def dead(now, processes, app: nil)
          index = SUMS.index("dead")
          last = (now / SECONDS).floor
          found = Hash.new { |hash, place| hash[place] = [0, nil, nil] }
          ((last - 59)..last).each do |number|
            minute = @minutes[number] or next
            minute.topics.each do |(one, *place), row|
              next unless row[index].positive? && (app.nil? || one == app)

              note_dead(found[place], row[index], number * SECONDS, minute.dead[[one, *place]] || (number * SECONDS))
            end
          end
          processes.each do |process|
            running(process).each do |place, count, age|
              note_dead(found[place], count, process.at, process.at - age.to_f) if now - process.at < 3_600
            end
          end
          found.tap { found.default_proc = nil }
        end

        private

        def note_dead(sums, count, first, last)
          sums[0] += count
          sums[1] ||= [first, last].min
          sums[2] = [sums[2], last].compact.max
        end

        # Once a minute has come, the report before it says nothing that the minute does not.
        def running(process)
          return [] if process.report["at"] <= @reported.fetch(process.name, 0)

          (process.report["topics"] || []).filter_map do |topic|
            dead, age = topic["minute"]&.values_at("dead", "dead_age")
            [topic.values_at("group", "topic"), dead, age] if dead
          end
        end

        # Two minutes that follow each other may come within one of the clock's.
        def number_of(process, number)
          minutes = @processes[process] or return number
          return number unless minutes.key?(number)

          minutes.key?(number + 1) ? number : number + 1
        end

        # Processes, and busy runners.
        def add_load(loads, record)
          app = record["app"]
          return if loads.size >= MAX_PLACES && !loads.key?(app)

          load = loads[app] ||= [0, 0.0]
          load[0] += 1
          load[1] += record["busy"].to_f
        end

        def add_topic(minute, app, topic, at)
          topics = minute.topics
          place = [app, topic["group"], topic["topic"]]
          return if topics.size >= MAX_PLACES && !topics.key?(place)

          place = @places[place] ||= place.freeze
          row = topics[place] ||= [*Array.new(SUMS.size, 0), nil]
          SUMS.each_with_index { |name, index| row[index] += topic[name] || 0 }
          row[-1] = [row[-1], topic["age"]].compact.max
          minute.dead[place] = [minute.dead[place], at - topic["dead_age"]].compact.max if topic["dead_age"]
        end

        def totals(minute, app, group, topic)
          wanted = [app, group, topic].each_with_index.reject { |name, _| name.nil? }
          rows = minute.topics.filter_map { |place, row| row if wanted.all? { |name, index| place[index] == name } }
          return Array.new(SUMS.size + 1) if rows.empty? && group

          [*SUMS.each_index.map { |index| rows.sum { |row| row[index] } }, rows.filter_map(&:last).max]
        end

        def note(record, number)
          name = record["process"]
          return if @processes.size >= MAX_PROCESSES && !@processes.key?(name)

          minutes = @processes[name] ||= {}
          @reported[name] = record["at"] if record["at"]
          seconds = record["seconds"] || SECONDS
          share = ->(value) { value && seconds.positive? ? value / seconds : nil }
          minutes[number] = Usage.new(record["rss"], share.call(record["cpu"]), share.call(record["gc"]), record["busy"])
          minutes.delete_if { |one, _| one <= minutes.keys.max - OF_PROCESSES } if minutes.size > OF_PROCESSES
        end

        def forget
          number = @minutes.keys.max
          @minutes.delete_if { |one, _| one <= number - MINUTES }
          @processes.delete_if { |_, minutes| minutes.keys.max <= number - MINUTES }
          @reported.select! { |name, _| @processes.key?(name) }
          @places = @minutes.each_value.flat_map { |minute| minute.topics.keys }.to_h { |place| [place, place] }
        end
      end
    end
  end
end
