# frozen_string_literal: true

require "etc"
require "fileutils"
require "tmpdir"

# A server of a database of one test's own: its data and its socket lie in a folder in memory. Debian's packages bring the programs; root starts
# them as the user that the package has made, for neither wants to be root's.
class DatabaseServer
  START_SECONDS = 120 # on a busy machine
  BASE = File.writable?("/dev/shm") ? "/dev/shm" : Dir.tmpdir

  # kind => what it needs
  PROGRAMS = {
    postgresql: {user: "postgres", packages: "apt-get install postgresql", find: -> { Dir["/usr/lib/postgresql/*/bin/postgres"].max }},
    mariadb: {user: "mysql", packages: "apt-get install mariadb-server", find: -> { Dir["/usr/{s,}bin/mariadbd"].first }}
  }.freeze

  # @return [String, nil] why there is none here
  def self.missing(kind)
    needed = PROGRAMS.fetch(kind)
    return "no server of #{kind}: #{needed[:packages]}" unless needed[:find].call
    return unless Process.uid.zero?

    Etc.getpwnam(needed[:user])
    nil
  rescue ::ArgumentError
    "no user #{needed[:user]}: #{needed[:packages]}"
  end

  # Blocks until it answers.
  # @param kind [Symbol] a key of PROGRAMS
  # @param program [String] another one than is installed
  def initialize(kind, program: PROGRAMS.fetch(kind)[:find].call)
    @kind = kind
    @program = program
    @user = (Etc.getpwnam(PROGRAMS.fetch(kind)[:user]) if Process.uid.zero?)
    @folder = Dir.mktmpdir("database-", BASE)
    FileUtils.chown(@user.uid, @user.gid, @folder) if @user
    create
    start
  rescue StandardError
    stop
    raise
  end

  # @return [Hash{Symbol=>Object}] for Active Record
  def settings
    return {adapter: "postgresql", host: @folder, username: "guildhall", database: "postgres"} if @kind == :postgresql

    {adapter: "trilogy", socket:, username: "root", database: "guildhall"}
  end

  # Blocks until it answers.
  def start
    command = if @kind == :postgresql
                [@program, "-D", data, "-k", @folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=60"]
              else
                [@program, "--no-defaults", "--datadir=#{data}", "--tmpdir=#{@folder}", "--socket=#{socket}", "--skip-networking", "--init-file=#{first_statements}"]
              end
    @pid = Process.spawn(*as_user(command), chdir: @folder, in: File::NULL, out: log, err: log, pgroup: true)
    limit = now + START_SECONDS
    until answers?
      if Process.wait(@pid, Process::WNOHANG)
        @pid = nil
        raise "the server has ended:\n#{File.read(log)}"
      end
      raise "the server does not answer after #{START_SECONDS} s:\n#{File.read(log)}" if now > limit

      sleep(0.1)
    end
  end

  # And removes its data. A server of PostgreSQL's that is killed leaves shared memory behind.
  def stop
    if @pid
      Process.kill(@kind == :postgresql ? :QUIT : :KILL, @pid)
      Process.wait(@pid)
    end
  ensure
    FileUtils.rm_rf(@folder)
  end

  private

  def data = File.join(@folder, "data")
  def log = File.join(@folder, "log")
  def socket = File.join(@folder, @kind == :postgresql ? ".s.PGSQL.5432" : "socket")
  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def create
    if @kind == :postgresql
      run(File.join(File.dirname(@program), "initdb"), "-D", data, "-U", "guildhall", "-A", "trust", "-E", "UTF8", "--no-sync")
    else
      # In the folder for temporary files that all share it would remove those of another one that begins just now.
      run("mariadb-install-db", "--no-defaults", "--datadir=#{data}", "--tmpdir=#{@folder}", "--auth-root-authentication-method=normal", "--skip-test-db")
    end
  end

  def first_statements
    file = File.join(@folder, "first.sql")
    File.write(file, "CREATE DATABASE IF NOT EXISTS guildhall;\n")
    file
  end

  def answers?
    tool = @kind == :postgresql ? [File.join(File.dirname(@program), "pg_isready"), "-h", @folder, "-U", "guildhall"] : ["mariadb-admin", "--no-defaults", "--socket=#{socket}", "-u", "root", "ping"]
    system(*tool, out: File::NULL, err: File::NULL)
  end

  def run(*command)
    system(*as_user(command), chdir: @folder, out: log, err: log) || raise("#{command.join(" ")}:\n#{File.read(log)}")
  end

  def as_user(command)
    return command unless @user

    ["setpriv", "--reuid=#{@user.uid}", "--regid=#{@user.gid}", "--clear-groups", "--", *command]
  end
end
