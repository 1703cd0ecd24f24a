package config

// The doc comments of this file are shown to users: the JSON Schema takes its descriptions from them. The tags:
//
//	yaml      the key
//	default   the value when left out, written as in the file
//	required  must be given
//	enum      the words that are allowed, separated by |
//	min, max  bounds, both given and both included, written as in the file

// Config is a Laneway configuration file. Only brokers, group and topics are needed.
type Config struct {
	// Brokers are the addresses (host:port) of one or more Kafka brokers to start from.
	Brokers []string `yaml:"brokers" required:"true"`
	// Group is the consumer group. It is part of the name of every topic that Laneway keeps.
	Group string `yaml:"group" required:"true"`
	// Topics are the source topics by name, and how their records are worked on.
	Topics map[string]Topic `yaml:"topics" required:"true"`
	// Session is the timing of the group membership.
	Session Session `yaml:"session"`
	// InstanceID makes the member static, usually by the name of the pod: a restart within the session timeout moves no partition.
	InstanceID string `yaml:"instance_id"`
	// Shutdown bounds how long a worker takes to stop.
	Shutdown Shutdown `yaml:"shutdown"`
	// Buffers bounds the memory of fetched records that wait.
	Buffers Buffers `yaml:"buffers"`
	// CommitInterval is the time between two commits of a partition with news.
	CommitInterval Duration `yaml:"commit_interval" default:"500ms" min:"10ms" max:"1m"`
	// TopicTemplate names the topics that Laneway keeps. It must hold {source}, {group} and {role}.
	TopicTemplate string `yaml:"topic_template" default:"{source}.{group}.{role}"`
	// AutoCreateTopics lets a worker create and widen missing topics at its start, as "topics apply" does.
	AutoCreateTopics bool `yaml:"auto_create_topics" default:"false"`
	// Ops is the listener for metrics, health and the admin API.
	Ops Ops `yaml:"ops"`
	// TLS encrypts the connections to the brokers. An empty block trusts the system's authorities.
	TLS *TLS `yaml:"tls,omitempty"`
	// SASL authenticates at the brokers.
	SASL *SASL `yaml:"sasl,omitempty"`
	// Logging says what is logged, and how.
	Logging Logging `yaml:"logging"`

	set      map[string]Position // what was given, by path, and where
	warnings []Problem           // found while loading
}

// Topic is one source topic and how its records are worked on.
type Topic struct {
	// Handler does the work: http or exec.
	Handler Handler `yaml:"handler" required:"true"`
	// Ordering says which records wait for one another: those of one key, those of one partition, or none.
	Ordering string `yaml:"ordering" default:"key" enum:"key|partition|none"`
	// Concurrency is the number of handler calls at once in one worker process.
	Concurrency int `yaml:"concurrency" default:"64" min:"1" max:"10000"`
	// Timeout ends one handler call. A call that took longer counts as failed, and is tried again. Left out, it is the
	// timeout of the http handler.
	Timeout Duration `yaml:"timeout" default:"30s" min:"1ms" max:"24h"`
	// Grace is the time past the timeout after which a call that has not returned counts as stuck.
	Grace Duration `yaml:"grace" default:"10s" min:"1ms" max:"1h"`
	// Stuck says what happens to a stuck call: its slot is replaced (abandon), or the worker exits with code 5 (crash).
	Stuck string `yaml:"stuck" default:"abandon" enum:"abandon|crash"`
	// Retry says when failed records are tried again, and how often.
	Retry Retry `yaml:"retry"`
	// Idempotency says how finished work is remembered, so that it is not done twice.
	Idempotency Idempotency `yaml:"idempotency"`
	// Start is where a partition begins that the group has no offset of: earliest, latest, or a time in RFC 3339.
	Start Start `yaml:"start" default:"earliest"`
}

// Retry says when failed records are tried again, and how often.
type Retry struct {
	// Tiers are the delays before the second, third, … try, growing. The last one repeats. Each is a topic.
	Tiers []Duration `yaml:"tiers" default:"[5s, 1m, 10m]" min:"1ms" max:"30d"`
	// MaxAttempts is the number of tries in all; after the last one a record goes to the dead letter topic.
	MaxAttempts int `yaml:"max_attempts" default:"5" min:"1" max:"1000"`
	// Jitter lengthens each delay by a random share of it, up to this one, so that retries do not come in step.
	Jitter float64 `yaml:"jitter" default:"0.2" min:"0" max:"1"`
	// MaxJitter bounds what jitter adds.
	MaxJitter Duration `yaml:"max_jitter" default:"10s" min:"1ms" max:"30d"`
	// MaxSnoozes is how often a handler may put a record off without using a try.
	MaxSnoozes int `yaml:"max_snoozes" default:"100" min:"1" max:"10000"`
	// MaxSnoozeAge is how long a record may be put off in all.
	MaxSnoozeAge Duration `yaml:"max_snooze_age" default:"1d" min:"1ms" max:"365d"`
}

// Idempotency says how finished work is remembered.
type Idempotency struct {
	// Key makes two records the same work: origin, record_key, header:NAME or json:PATH.
	Key Key `yaml:"key" default:"origin"`
	// Mode says when a record is marked: after its work (record_after), before it (claim_first), or never (off).
	Mode string `yaml:"mode" default:"record_after" enum:"record_after|claim_first|off"`
	// Window is how long a mark is kept. auto is computed from the retention of the source and the retry tiers.
	Window Window `yaml:"window" default:"auto"`
}

// Session is the timing of the group membership.
type Session struct {
	// Timeout is how long a worker may be silent before its partitions go to another one.
	Timeout Duration `yaml:"timeout" default:"15s" min:"1s" max:"30m"`
	// Heartbeat is the time between two signs of life. It also is how soon a rebalance is noticed.
	Heartbeat Duration `yaml:"heartbeat" default:"500ms" min:"50ms" max:"1m"`
	// Rebalance is how long a member may take to rejoin.
	Rebalance Duration `yaml:"rebalance" default:"30s" min:"1s" max:"1h"`
}

// Shutdown bounds how long a worker takes to stop.
type Shutdown struct {
	// Drain is how long running handler calls are waited for; after it their contexts end.
	Drain Duration `yaml:"drain" default:"20s" min:"1ms" max:"1h"`
	// Total is the time after which a worker stops, whatever is still out. Keep it below the grace period of the platform.
	Total Duration `yaml:"total" default:"25s" min:"1ms" max:"1h"`
}

// Buffers bounds the memory of records that wait: the sizes are of fetched ones, in decompressed bytes.
type Buffers struct {
	// Lane bounds one partition.
	Lane Bytes `yaml:"lane" default:"16MiB" min:"64KiB" max:"4GiB"`
	// Total bounds the process.
	Total Bytes `yaml:"total" default:"256MiB" min:"1MiB" max:"1TiB"`
	// Waiting bounds the records that wait in delay topics, in all partitions together; past it no new ones are taken.
	Waiting int `yaml:"waiting" default:"5000000" min:"1000" max:"1000000000"`
}

// Ops is the listener for metrics, health and the admin API.
type Ops struct {
	// Listen is the address (host:port). Other than loopback it needs auth. "off" opens no listener.
	Listen string `yaml:"listen" default:"127.0.0.1:9464"`
	// ReadOnly refuses every request that changes something.
	ReadOnly bool `yaml:"read_only" default:"false"`
	// PProf serves profiles of the process at /debug/pprof/.
	PProf bool `yaml:"pprof" default:"false"`
	// Auth says who may come in. Without it everyone who reaches the listener is an operator.
	Auth *OpsAuth `yaml:"auth,omitempty"`
}

// OpsAuth says who may come in.
type OpsAuth struct {
	// Viewer may look.
	Viewer *Credential `yaml:"viewer,omitempty"`
	// Operator may look and change.
	Operator *Credential `yaml:"operator,omitempty"`
}

// Credential is a bearer token, or a user name and a password, or both.
type Credential struct {
	// Token is a bearer token.
	Token Secret `yaml:"token"`
	// Username is the name for basic authentication.
	Username string `yaml:"username"`
	// Password is the password for basic authentication.
	Password Secret `yaml:"password"`
}

// Logging says what is logged, and how.
type Logging struct {
	// Level is the lowest level that is logged.
	Level string `yaml:"level" default:"info" enum:"debug|info|warn|error"`
	// Format is text for people or json for machines.
	Format string `yaml:"format" default:"text" enum:"text|json"`
}

// TLS names the PEM files of a TLS client.
type TLS struct {
	// CA is the file of the authorities to trust in place of the system's.
	CA string `yaml:"ca"`
	// Cert is the file of the client's certificate. It is read again for each connection, so that it may be renewed.
	Cert string `yaml:"cert"`
	// Key is the file of the client's key.
	Key string `yaml:"key"`
	// ServerName replaces the host name that the server's certificate must have.
	ServerName string `yaml:"server_name"`
}

// SASL says how to authenticate at the brokers.
type SASL struct {
	// Mechanism decides which of the other fields are used.
	Mechanism string `yaml:"mechanism" required:"true" enum:"PLAIN|SCRAM-SHA-256|SCRAM-SHA-512|OAUTHBEARER|AWS_MSK_IAM"`
	// Username is for PLAIN and SCRAM.
	Username string `yaml:"username"`
	// Password is for PLAIN and SCRAM.
	Password Secret `yaml:"password"`
	// Token is for OAUTHBEARER.
	Token Secret `yaml:"token"`
	// TokenFile is for OAUTHBEARER, in place of token. It is read again for each authentication.
	TokenFile string `yaml:"token_file"`
	// AccessKey is for AWS_MSK_IAM.
	AccessKey string `yaml:"access_key"`
	// SecretKey is for AWS_MSK_IAM.
	SecretKey Secret `yaml:"secret_key"`
	// SessionToken is for AWS_MSK_IAM with temporary credentials.
	SessionToken Secret `yaml:"session_token"`
}
