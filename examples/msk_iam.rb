# frozen_string_literal: true

# Brings tokens for AWS MSK with IAM, without an SDK: a URL that asks for `kafka-cluster:Connect`, presigned with AWS Signature Version 4.
# Nothing is sent to AWS for that. Run it to see what a token says:
# AWS_REGION=eu-west-1 AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… ruby examples/msk_iam.rb
require "openssl"
require "uri"

# For `config.oauth_token`. Where the credentials come from a role, as in ECS, EKS or EC2, they change: give it a block that reads them.
class MskIam
  LIFE_SECONDS = 900 # as AWS's own signers have it
  SERVICE = "kafka-cluster"
  ALGORITHM = "AWS4-HMAC-SHA256"

  # @param region [String] of the cluster
  # @yieldreturn [Array(String, String, String | nil)] the access key's id, the secret key, and the session token where there is one
  def initialize(region = ENV.fetch("AWS_REGION"), &credentials)
    @region = region
    @host = "kafka.#{region}.amazonaws.com"
    @credentials = credentials || -> { ENV.values_at("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN") }
  end

  # @return [Hash{Symbol=>Object}] as `config.oauth_token` returns it
  def call(now = Time.now)
    url = presigned(now.getutc)
    {token: [url].pack("m0").tr("+/", "-_").delete("="), expires_at: Time.at(now.to_i + LIFE_SECONDS), principal: "msk-iam"}
  end

  private

  def presigned(now)
    id, secret, session = @credentials.call
    raise ArgumentError, "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" if id.to_s.empty? || secret.to_s.empty?

    scope = [now.strftime("%Y%m%d"), @region, SERVICE, "aws4_request"]
    query = {"Action" => "kafka-cluster:Connect", "X-Amz-Algorithm" => ALGORITHM, "X-Amz-Credential" => [id, *scope].join("/"),
             "X-Amz-Date" => now.strftime("%Y%m%dT%H%M%SZ"), "X-Amz-Expires" => LIFE_SECONDS.to_s, "X-Amz-Security-Token" => session,
             "X-Amz-SignedHeaders" => "host"}.compact
    query = query.sort.map { |pair| pair.map { |text| URI.encode_uri_component(text) }.join("=") }.join("&")
    request = ["GET", "/", query, "host:#{@host}\n", "host", OpenSSL::Digest::SHA256.hexdigest("")].join("\n")
    text = [ALGORITHM, now.strftime("%Y%m%dT%H%M%SZ"), scope.join("/"), OpenSSL::Digest::SHA256.hexdigest(request)].join("\n")
    key = scope.reduce("AWS4#{secret}") { |made, part| OpenSSL::HMAC.digest("SHA256", made, part) }
    "https://#{@host}/?#{query}&X-Amz-Signature=#{OpenSSL::HMAC.hexdigest("SHA256", key, text)}&User-Agent=guildhall"
  end
end

if $PROGRAM_NAME == __FILE__
  answer = MskIam.new.call
  url = answer[:token].tr("-_", "+/").unpack1("m")
  puts url.sub(/X-Amz-Signature=\h+/, "X-Amz-Signature=…").sub(/X-Amz-Security-Token=[^&]+/, "X-Amz-Security-Token=…")
  puts "valid until #{answer[:expires_at]}"
end
