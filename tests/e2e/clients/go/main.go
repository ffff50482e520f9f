// A client of the door on Go's x/crypto/ssh: does what clients do and says as JSON what came of it.
//
//	client HOST PORT USER KEY WRONG-KEY KNOWN-HOSTS
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

const (
	rekeyBytes = 1 << 20
	pieceBytes = 256_000
	pieces     = 20
)

type object = map[string]any

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func connect(words []string, key string) (*ssh.Client, error) {
	signer := must(ssh.ParsePrivateKey(must(os.ReadFile(key))))
	config := &ssh.ClientConfig{
		User:              words[2],
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback:   must(knownhosts.New(words[5])),
		HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
		Timeout:           30 * time.Second,
	}
	config.RekeyThreshold = rekeyBytes
	return ssh.Dial("tcp", net.JoinHostPort(words[0], words[1]), config)
}

// One channel and the MCP session on it.
type session struct {
	channel *ssh.Session
	in      io.WriteCloser
	out     *bufio.Reader
	next    int
	waits   bool // the library waits for no end of a subsystem
}

func open(client *ssh.Client, how string) *session {
	channel := must(client.NewSession())
	s := &session{channel: channel, in: must(channel.StdinPipe()), waits: how != "subsystem"}
	s.out = bufio.NewReaderSize(must(channel.StdoutPipe()), 1<<16)
	switch how {
	case "exec":
		check(channel.Start("touch /tmp/agentbox-go-client"))
	case "shell":
		check(channel.Shell())
	default:
		check(channel.RequestSubsystem("mcp"))
	}
	return s
}

func (s *session) say(message object) {
	message["jsonrpc"] = "2.0"
	must(s.in.Write(append(must(json.Marshal(message)), '\n')))
}

func (s *session) start(method string, params object) int {
	s.next++
	s.say(object{"id": s.next, "method": method, "params": params})
	return s.next
}

func (s *session) call(tool string, arguments object) int {
	return s.start("tools/call", object{"name": tool, "arguments": arguments})
}

func (s *session) reply() object {
	line := must(s.out.ReadBytes('\n'))
	var message object
	check(json.Unmarshal(line, &message))
	return message
}

func (s *session) structured() object {
	return s.reply()["result"].(object)["structuredContent"].(object)
}

func (s *session) greet() string {
	s.start("initialize", object{
		"protocolVersion": "2025-11-25", "capabilities": object{},
		"clientInfo": object{"name": "go", "version": "1"},
	})
	answer := s.reply()
	s.say(object{"method": "notifications/initialized"})
	return answer["result"].(object)["serverInfo"].(object)["name"].(string)
}

// Ends the input, reads what still comes and returns it with the exit status.
func (s *session) finish() ([]string, int) {
	check(s.in.Close())
	rest := string(must(io.ReadAll(s.out)))
	status := 0
	if !s.waits {
		return nil, status
	}
	if err := s.channel.Wait(); err != nil {
		status = err.(*ssh.ExitError).ExitStatus()
	}
	return strings.Split(strings.TrimSpace(rest), "\n"), status
}

func piece(number int) string {
	return strings.Repeat(fmt.Sprintf("%07d\n", number), pieceBytes/8)
}

func transfer(client *ssh.Client) object {
	s := open(client, "exec")
	s.greet()
	different := 0
	for number := 0; number < pieces; number++ {
		s.call("write_file", object{"path": "go.txt", "content": piece(number)})
		s.structured()
		s.call("read_file", object{"path": "go.txt", "limit": pieceBytes})
		if s.structured()["content"] != piece(number) {
			different++
		}
	}
	_, status := s.finish()
	return object{"pieces": pieces, "different": different, "status": status}
}

func slowReader(client *ssh.Client) int {
	s := open(client, "exec")
	s.greet()
	s.call("write_file", object{"path": "go.txt", "content": piece(1)})
	s.structured()
	for i := 0; i < 12; i++ {
		s.call("read_file", object{"path": "go.txt", "limit": pieceBytes})
	}
	time.Sleep(time.Second) // a reader that pauses is what is tested
	whole := 0
	for i := 0; i < 12; i++ {
		if s.structured()["content"] == piece(1) {
			whole++
		}
	}
	s.finish()
	return whole
}

func channels(client *ssh.Client) int {
	var all []*session
	for i := 0; i < 12; i++ {
		all = append(all, open(client, "exec"))
	}
	answered := 0
	for _, s := range all {
		if s.greet() == "agent-box" {
			answered++
		}
	}
	for _, s := range all {
		s.finish()
	}
	return answered
}

func halfClose(client *ssh.Client) object {
	s := open(client, "exec")
	s.greet()
	s.call("shell_exec", object{"command": "sleep 1; echo late"})
	lines, status := s.finish()
	return object{"late": strings.Contains(lines[len(lines)-1], "late"), "status": status}
}

func notMcp(client *ssh.Client) int {
	s := open(client, "exec")
	must(io.WriteString(s.in, strings.Repeat("hello\n", 10)))
	_, status := s.finish()
	return status
}

func main() {
	words := os.Args[1:]
	client := must(connect(words, words[3]))
	said := object{"version": string(client.ServerVersion())}
	for _, how := range []string{"exec", "shell", "subsystem"} {
		s := open(client, how)
		said[how] = s.greet()
		s.finish()
	}
	said["channels"] = channels(client)
	said["transfer"] = transfer(client)
	said["half_close"] = halfClose(client)
	said["not_mcp"] = notMcp(client)
	said["slow_reader"] = slowReader(client)
	_, _, err := client.SendRequest("keepalive@openssh.com", true, nil)
	said["keepalive"] = err == nil
	check(client.Close())
	_, err = connect(words, words[4])
	said["wrong_key"] = err != nil && strings.Contains(err.Error(), "unable to authenticate")
	check(json.NewEncoder(os.Stdout).Encode(said))
}
