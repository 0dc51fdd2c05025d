# frozen_string_literal: true

require "test_helper"
require "rbconfig"
require "tmpdir"

# What differs between operating systems stands in one file, and where the extensions cannot work, their build says so.
class PlatformTest < GuildhallTest
  ROOT = File.expand_path("..", __dir__)
  PLACES = {
    "ext/guildhall/include/guildhall/platform.h" => /.*/,
    "ext/guildhall/waiting/word.c" => /futex|FUTEX|syscall/,
    "ext/guildhall/waiting/sleepers.c" => /timerfd|TFD_|CLOCK_MONOTONIC|fcntl/
  }.freeze
  # Names of what some system has not, or has elsewhere.
  NAMES = /
    \b(CLOCK_\w+|clock_gettime|clock_getres|gettimeofday|getentropy|getrandom|arc4random\w*|futex|FUTEX_\w+|syscall|SYS_\w+|eventfd|
    epoll_\w+|kqueue|kevent|timerfd\w*|TFD_\w+|gettid|pipe2|accept4|sched_(?:getaffinity|getcpu)|sysconf|get_nprocs\w*|sysctl\w*|
    pthread_\w+_np|pthread_condattr_\w+|pthread_cond_timedwait|pthread_spin_\w+|memrchr|mempcpy|strchrnul|qsort_r|malloc_usable_size|malloc_size|
    posix_memalign|memalign|mach_\w+|fcntl|__APPLE__|__linux__|__FreeBSD__)\b
  /x

  def test_only_the_platform_header_names_what_systems_have_not_in_common
    found = Dir["ext/**/*.{c,h}", base: ROOT].flat_map do |path|
      code = File.read(File.join(ROOT, path)).gsub(%r{/\*.*?\*/}m, "").gsub(/#include.*/, "")
      code.scan(NAMES).flatten.uniq.reject { |name| PLACES[path]&.match?(name) }.map { |name| "#{path}: #{name}" }
    end
    assert_empty found
  end

  def test_the_headers_of_other_systems_stand_there_too
    found = Dir["ext/**/*.{c,h}", base: ROOT].reject { |path| PLACES.key?(path) }.flat_map do |path|
      File.read(File.join(ROOT, path)).scan(%r{#include <((?:sys|linux|mach)/[^>]+|unistd.h|fcntl.h)>}).flatten.map { |name| "#{path}: #{name}" }
    end
    assert_equal ["ext/guildhall_kafka/librdkafka.h: sys/types.h"], found
  end

  # A frame larger than the guard page at the end of a stack must not jump over it.
  def test_both_extensions_touch_each_page_of_the_stack
    flag = "-fstack-clash-protection"
    _, _, status = run_command([RbConfig::CONFIG["CC"].split.first, flag, "-Werror", "-x", "c", "-c", "-o", File::NULL, File::NULL])
    skip("this compiler has no #{flag}") unless status.success?
    %w[guildhall guildhall_kafka].each do |extension|
      Dir.mktmpdir do |folder|
        out, err, status = run_command([RbConfig.ruby, File.join(ROOT, "ext", extension, "extconf.rb")], chdir: folder)
        assert_predicate status, :success?, out + err
        assert_includes File.read(File.join(folder, "Makefile"))[/^CFLAGS .*$/], flag, extension
      end
    end
  end

  {
    "64 bits" => ["-U__SIZEOF_POINTER__ -D__SIZEOF_POINTER__=4", "a 64-bit Ruby"],
    "little end" => ["-U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__", "a little-endian processor (keys are compared by words)"],
    "int128" => ["-U__SIZEOF_INT128__", "a compiler with __int128 (gcc or clang)"]
  }.each do |name, (flags, needed)|
    define_method(:"test_extconf_refuses_a_machine_without_#{name.tr(" ", "_")}") do
      Dir.mktmpdir do |folder|
        out, err, status = run_command([RbConfig.ruby, File.join(ROOT, "ext/guildhall/extconf.rb"), "--with-cppflags=#{flags}"], chdir: folder)
        refute_predicate status, :success?
        assert_includes out + err, "guildhall: needs #{needed}; this is "
        refute_path_exists File.join(folder, "Makefile")
      end
    end
  end
end
