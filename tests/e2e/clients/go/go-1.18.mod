module agentbox/tests/client

go 1.18

require golang.org/x/crypto v0.24.0

require golang.org/x/sys v0.21.0 // indirect
