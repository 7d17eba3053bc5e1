// Program tiny has few packages to build.
package main

import "example.com/app/mix"

func main() { println(mix.Work(1)) }
