// consumer SERVERS TOPIC COUNT MODE: reads COUNT messages with confluent's client and encoding/json; MODE struct or map.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

type Item struct {
	Quantity int64 `json:"quantity"`
}

type Order struct {
	ID       int64   `json:"id"`
	Status   string  `json:"status"`
	Total    float64 `json:"total"`
	Customer struct {
		Email string `json:"email"`
	} `json:"customer"`
	Items []Item `json:"items"`
}

func fromStruct(bytes []byte) int64 {
	var order Order
	if err := json.Unmarshal(bytes, &order); err != nil {
		panic(err)
	}
	return order.ID + int64(len(order.Status)) + int64(math.Round(order.Total*100)) + int64(len(order.Customer.Email)) + order.Items[0].Quantity
}

func fromMap(bytes []byte) int64 {
	var order map[string]interface{}
	if err := json.Unmarshal(bytes, &order); err != nil {
		panic(err)
	}
	customer := order["customer"].(map[string]interface{})
	item := order["items"].([]interface{})[0].(map[string]interface{})
	return int64(order["id"].(float64)) + int64(len(order["status"].(string))) + int64(math.Round(order["total"].(float64)*100)) +
		int64(len(customer["email"].(string))) + int64(item["quantity"].(float64))
}

func main() {
	total, _ := strconv.Atoi(os.Args[3])
	goal := total * 9 / 10
	read := fromStruct
	if os.Args[4] == "map" {
		read = fromMap
	}
	consumer, err := kafka.NewConsumer(&kafka.ConfigMap{"bootstrap.servers": os.Args[1], "group.id": fmt.Sprintf("bench-go-%d", os.Getpid()),
		"auto.offset.reset": "earliest", "fetch.wait.max.ms": 50, "queued.max.messages.kbytes": 50000, "fetch.message.max.bytes": 10000000})
	if err != nil {
		panic(err)
	}
	if err := consumer.SubscribeTopics([]string{os.Args[2]}, nil); err != nil {
		panic(err)
	}
	count, sum := 0, int64(0)
	var began, ended time.Time
	for count < total {
		message, ok := consumer.Poll(100).(*kafka.Message)
		if !ok {
			continue
		}
		if count == 0 {
			began = time.Now()
		}
		sum += read(message.Value)
		count++
		if count == goal {
			ended = time.Now()
		}
	}
	fmt.Printf("{\"rate\":%f,\"sum\":%d}\n", float64(goal)/ended.Sub(began).Seconds(), sum)
	os.Exit(0)
}
